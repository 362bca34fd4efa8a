"""The doctor on SQL: connection, tables, clock, and whether it takes writes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, make_url, select
from sqlalchemy.exc import SQLAlchemyError

from core import database
from ops.clock_skew import compare
from ops.context import Context
from ops.faults import explain
from ops.findings import Finding, fail, ok

AREA = "sql"


def findings(context: Context) -> Iterator[Finding]:
    """Findings about the SQL database, or the one that it cannot be reached."""
    file = make_url(context.settings.database_url).database
    if context.settings.database_url.startswith("sqlite") and file and not Path(file).exists():
        yield fail(AREA, f"there is no file {file}", "Run `mailward migrate`")  # connecting would create it
        return
    try:
        with database.reading(context.engine) as connection:
            yield ok(AREA, f"connected, {connection.dialect.name} {_version(connection)}")
            yield _migrations(connection)
            if connection.dialect.name != "sqlite":  # its clock is ours
                yield compare(AREA, lambda: _now(connection), context.clock)
                yield from _writable(connection)
    except (SQLAlchemyError, OSError) as error:
        yield fail(AREA, explain(error, context.settings), "")


def _version(connection: Connection) -> str:
    return ".".join(map(str, connection.dialect.server_version_info or ()))


def _migrations(connection: Connection) -> Finding:
    config = Config()
    config.set_main_option("script_location", "core:migrations")
    scripts = ScriptDirectory.from_config(config)
    head = scripts.get_current_head()
    current = MigrationContext.configure(connection).get_current_revision()
    if current == head:
        return ok(AREA, f"tables are up to date ({head})")
    if current is None:
        return fail(AREA, "there are no tables yet", "Run `mailward migrate`")
    known = {script.revision for script in scripts.walk_revisions()}
    if current not in known:
        return fail(AREA, f"a newer mailward made the tables ({current}; this one knows {head})", "Deploy that version")
    return fail(AREA, f"tables are at {current}, this version needs {head}", "Run `mailward migrate`")


def _now(connection: Connection) -> datetime:
    moment: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return moment.astimezone(UTC)


def _writable(connection: Connection) -> Iterator[Finding]:
    if connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on":
        yield fail(AREA, "this server takes no writes (a follower?)", "Point DATABASE_URL at the primary")
