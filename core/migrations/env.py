"""Alembic's entry: runs the migrations on the connection that core.database.upgrade hands over."""

from alembic import context

from core.ledger import tables as _  # noqa: F401 - adds its tables to the metadata
from core.tables import metadata

RELEASE_LOCK = 0x6D61696C  # any number that nothing else in the database locks

connection = context.config.attributes["connection"]
if connection.dialect.name == "postgresql":  # two releases at once: the second waits and finds everything done
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({RELEASE_LOCK})")
context.configure(
    connection=connection,
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot alter most things in place
)
with context.begin_transaction():
    context.run_migrations()
