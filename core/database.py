"""The SQL engine: SQLite for one machine, PostgreSQL wherever processes do not share a disk."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 5
_READ_ONLY = "mailward_read_only"
# A plan is kept with its prepared statement: one that reads a whole table is right while that is small, and takes a
# second for each batch once a million recipients were loaded. What we ask in a hurry has an index, and grows with the
# batch only. And without JIT, which takes a fifth of a second over statements whose cost it overestimates.
_PLANNER = {"jit": "off", **dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin"), "off")}
REST_S = 1.0  # a connection that was used more recently is believed to live
POOL_SIZE = 2  # small plans count connections; a process uses one at a time and one more for health


def create(database_url: str, schema: str = "", busy_timeout_s: float = 5.0, connections: int = POOL_SIZE) -> Engine:
    """An engine that connects on first use.

    `schema` is the PostgreSQL schema to work in ("" means the default one). `busy_timeout_s` bounds how long a SQLite
    writer waits for another before it reports an outage, and how long PostgreSQL waits for a lock. `connections` are
    the most that the process opens to PostgreSQL.
    """
    url = make_url(database_url)
    if url.get_backend_name() == "sqlite":
        return _sqlite(database_url, busy_timeout_s)
    session = {"lock_timeout": int(busy_timeout_s * 1000), "statement_timeout": 60_000, "timezone": "UTC", **_PLANNER}
    options = " ".join(f"-c {name}={value}" for name, value in session.items())
    if schema:
        options += f" -c search_path={schema}"
    engine = create_engine(
        url,
        hide_parameters=True,  # they hold addresses, and error texts are logged
        pool_size=connections,
        max_overflow=0,
        connect_args={
            "connect_timeout": CONNECT_TIMEOUT_S,
            "options": options,
            "application_name": "mailward",
            "client_encoding": "utf8",
            "prepare_threshold": None,  # core.pipeline does; psycopg would throw everything away at each rollback
            # A vanished host must become an error, not a hang (a frozen process still hangs us: its kernel answers).
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        },
    )
    event.listen(engine, "checkin", _note_rest)
    event.listen(engine, "checkout", _ping_after_rest)
    return engine


def _note_rest(_connection: Any, record: Any) -> None:
    record.info["resting_since"] = time.monotonic()


def _ping_after_rest(connection: Any, record: Any, _proxy: Any) -> None:
    """A connection that rested may have been closed meanwhile, and is replaced then. SQLAlchemy's own `pool_pre_ping`
    asks before every transaction, which costs more than some transactions."""
    if time.monotonic() - record.info.get("resting_since", time.monotonic()) < REST_S:
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error as error:
        raise DisconnectionError("the server closed a resting connection") from error


def _sqlite(database_url: str, busy_timeout_s: float) -> Engine:
    path = make_url(database_url).database
    if path and path != ":memory:":
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        database_url, hide_parameters=True, connect_args={"timeout": busy_timeout_s, "isolation_level": None}
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


# Addresses come in no order, so every batch touches all of an index: keep it in memory (KiB), and let the write-ahead
# log grow (pages of 4 KiB) before the same pages are copied back once more.
_SQLITE_ROOM = ("cache_size=-8000", "wal_autocheckpoint=8000")


def _on_connect(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", *_SQLITE_ROOM):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _on_begin(connection: Connection) -> None:
    # IMMEDIATE takes the write lock at the start: a deferred transaction that reads first cannot wait for it later.
    only_reads = connection.get_execution_options().get(_READ_ONLY)
    connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection for a consistent look that never makes a SQLite writer wait."""
    with engine.connect().execution_options(**{_READ_ONLY: True}) as connection:
        yield connection


def has_grown(engine: Engine, table: str) -> None:
    """Let PostgreSQL look at a table that has grown at once, so that plans made for less are made anew: else a campaign
    may be read whole for each of its calls, until autovacuum comes by. SQLite needs no help.

    It waits for the lock long enough that autovacuum gives way. What the server refuses all the same is logged.
    """
    if engine.dialect.name != "postgresql":
        return
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = 5000")
            connection.exec_driver_sql(f"ANALYZE {table}")
    except DBAPIError as error:
        log.warning("not_analysed", extra={"table": table, "error": type(error.orig).__name__})


def upgrade(engine: Engine, schema: str = "") -> None:
    """Bring the tables to this version's schema; harmless to repeat."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "core:migrations")
    with engine.begin() as connection:
        if schema:
            connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
