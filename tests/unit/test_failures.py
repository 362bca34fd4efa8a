"""The table of failures: for every error a store or the broker can raise, whose fault it is and what it costs."""

import errno
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

import pika.exceptions
import psycopg
import pytest
import redis
import sqlalchemy
from redis._parsers.base import BaseParser
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from core import database, errors
from core.errors import Outage, Permanent, Transient
from core.failures import Verdict, judge
from core.recipients import WrongType

Create = Callable[[str], Engine]

OUTAGE, PERMANENT, TRANSIENT = Verdict(Outage), Verdict(Permanent), Verdict(Transient)
REFUSED = Verdict(Transient, refusal=True)

OURS = {
    errors.Permanent("code"): PERMANENT,
    errors.Undecodable("not_json"): PERMANENT,
    errors.Transient("code"): TRANSIENT,
    WrongType("wrong_type"): TRANSIENT,
    errors.Outage("broker_lost"): OUTAGE,
}

REDIS_CLIENT = {
    redis.ConnectionError("Error 111 connecting"): OUTAGE,
    redis.TimeoutError("Timeout reading from socket"): OUTAGE,
    redis.BusyLoadingError("Redis is loading the dataset in memory"): OUTAGE,
    redis.DataError("Invalid input of type"): TRANSIENT,
    redis.exceptions.InvalidResponse("Protocol Error"): TRANSIENT,
}

# As a server writes them; redis-py takes the code away from some and keeps it with others.
REDIS_REPLIES = {
    "LOADING Redis is loading the dataset in memory": OUTAGE,
    "MASTERDOWN Link with MASTER is down": OUTAGE,
    "CLUSTERDOWN The cluster is down": OUTAGE,
    "TRYAGAIN Multiple keys request during rehashing of slot": OUTAGE,
    "BUSY Redis is busy running a script.": OUTAGE,
    "ERR max number of clients reached": OUTAGE,
    "NOAUTH Authentication required.": OUTAGE,
    "WRONGPASS invalid username-password pair or user is disabled.": OUTAGE,
    "READONLY You can't write against a read only replica.": REFUSED,
    "NOPERM this user has no permissions to run the 'del' command": REFUSED,
    "ERR The user executing the script can't run this command or subcommand script: 33df, on @user_script:6.": REFUSED,
    "ACL failure in script: User jane has no permissions to run the 'del' command script: b0d6.": REFUSED,
    "OOM command not allowed when used memory > 'maxmemory'.": REFUSED,
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.": REFUSED,
    "NOREPLICAS Not enough good replicas to write.": REFUSED,
    "WRONGTYPE Operation against a key holding the wrong kind of value": TRANSIENT,
    "ERR syntax error": TRANSIENT,
    "NOSCRIPT No matching script.": TRANSIENT,
}

SQLITE_NAMES = {
    "SQLITE_BUSY": OUTAGE,
    "SQLITE_BUSY_SNAPSHOT": OUTAGE,
    "SQLITE_LOCKED": OUTAGE,
    "SQLITE_LOCKED_SHAREDCACHE": OUTAGE,
    "SQLITE_FULL": OUTAGE,
    "SQLITE_IOERR": OUTAGE,
    "SQLITE_IOERR_FSYNC": OUTAGE,
    "SQLITE_CANTOPEN": OUTAGE,
    "SQLITE_NOMEM": OUTAGE,
    "SQLITE_READONLY": REFUSED,
    "SQLITE_READONLY_DBMOVED": REFUSED,
    "SQLITE_CONSTRAINT_UNIQUE": TRANSIENT,
    "SQLITE_CONSTRAINT_CHECK": TRANSIENT,
    "SQLITE_TOOBIG": TRANSIENT,
    "SQLITE_CORRUPT": TRANSIENT,
    "SQLITE_ERROR": TRANSIENT,
}

POSTGRESQL_STATES = {
    "08000": OUTAGE,
    "08003": OUTAGE,
    "08006": OUTAGE,
    "53000": OUTAGE,
    "53100": OUTAGE,
    "53200": OUTAGE,
    "53300": OUTAGE,
    "57P01": OUTAGE,
    "57P02": OUTAGE,
    "57P03": OUTAGE,
    "57014": OUTAGE,
    "55P03": OUTAGE,
    "40001": OUTAGE,
    "40P01": OUTAGE,
    "25006": REFUSED,
    "42501": REFUSED,
    "23505": TRANSIENT,
    "23514": TRANSIENT,
    "22001": TRANSIENT,
    "22021": TRANSIENT,
    "42P01": OUTAGE,
    "42703": OUTAGE,
}

BROKER = {
    pika.exceptions.AMQPConnectionError("refused"): OUTAGE,
    pika.exceptions.ConnectionClosedByBroker(320, "shutdown"): OUTAGE,
    pika.exceptions.ChannelClosedByBroker(406, "PRECONDITION_FAILED"): OUTAGE,
    pika.exceptions.StreamLostError("reset"): OUTAGE,
    pika.exceptions.ConnectionBlockedTimeout("blocked"): OUTAGE,
    pika.exceptions.NackError([]): OUTAGE,
    pika.exceptions.UnroutableError([]): OUTAGE,
    pika.exceptions.ChannelWrongStateError("closed"): OUTAGE,
}

OPERATING_SYSTEM = {
    ConnectionRefusedError(errno.ECONNREFUSED, "refused"): OUTAGE,
    ConnectionResetError(errno.ECONNRESET, "reset"): OUTAGE,
    BrokenPipeError(errno.EPIPE, "broken pipe"): OUTAGE,
    TimeoutError(errno.ETIMEDOUT, "timed out"): OUTAGE,
    FileNotFoundError(errno.ENOENT, "no such file"): TRANSIENT,
    PermissionError(errno.EACCES, "not permitted"): TRANSIENT,
}

FORESEEN_BY_NOBODY = [
    ValueError("bad"),
    KeyError("missing"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "no"),
    RecursionError(),
]


@pytest.mark.parametrize(
    ("error", "verdict"), [*OURS.items(), *REDIS_CLIENT.items(), *BROKER.items(), *OPERATING_SYSTEM.items()], ids=repr
)
def test_each_type_of_error_has_its_verdict(error: Exception, verdict: Verdict) -> None:
    assert judge(error) == verdict


@pytest.mark.parametrize("error", FORESEEN_BY_NOBODY, ids=repr)
def test_an_error_that_nobody_foresaw_costs_an_attempt(error: Exception) -> None:
    assert judge(error) == TRANSIENT


@pytest.mark.parametrize(("reply", "verdict"), REDIS_REPLIES.items())
def test_each_refusal_of_redis_has_its_verdict(reply: str, verdict: Verdict) -> None:
    assert judge(BaseParser.parse_error(reply)) == verdict  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("name", "verdict"), SQLITE_NAMES.items())
def test_each_result_code_of_sqlite_has_its_verdict(name: str, verdict: Verdict) -> None:
    original = sqlite3.OperationalError("text of any kind")
    original.sqlite_errorname = name

    assert judge(wrapped(original, sqlite3.Error)) == verdict


@pytest.mark.parametrize(("state", "verdict"), POSTGRESQL_STATES.items())
def test_each_state_of_postgresql_has_its_verdict(state: str, verdict: Verdict) -> None:
    original = psycopg.errors.lookup(state)("text of any kind")
    assert original.sqlstate == state

    assert judge(wrapped(original, psycopg.Error)) == verdict


@pytest.mark.parametrize(
    ("original", "verdict"),
    [
        (psycopg.OperationalError("server closed the connection unexpectedly"), OUTAGE),
        (psycopg.InterfaceError("the connection is closed"), OUTAGE),
        (psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes"), TRANSIENT),
        (psycopg.ProgrammingError("cannot adapt type"), TRANSIENT),
    ],
    ids=repr,
)
def test_a_postgresql_error_without_a_state_is_judged_by_its_class(original: Exception, verdict: Verdict) -> None:
    assert judge(wrapped(original, psycopg.Error)) == verdict


def test_a_connection_that_sqlalchemy_gave_up_is_an_outage() -> None:
    error = wrapped(psycopg.DatabaseError("broken"), psycopg.Error)
    error.connection_invalidated = True

    assert judge(error) == OUTAGE


@pytest.fixture
def create() -> Iterator[Create]:
    """core.database.create, with every engine disposed of at the end."""
    engines: list[Engine] = []

    def created(url: str, busy_timeout_s: float = 0.01) -> Engine:
        engines.append(database.create(url, busy_timeout_s=busy_timeout_s))
        return engines[-1]

    yield created
    for engine in engines:
        engine.dispose()


def test_a_closed_postgresql_port_is_an_outage(create: Create) -> None:
    with socket.socket() as reserved:  # bound, so that nobody else takes the port, but not listening
        reserved.bind(("127.0.0.1", 0))
        engine = create(f"postgresql+psycopg://127.0.0.1:{reserved.getsockname()[1]}/none")

        error = failing(lambda: engine.connect())

    assert error.orig.sqlstate is None  # type: ignore[union-attr]
    assert judge(error) == OUTAGE


def test_no_free_connection_in_the_pool_is_an_outage() -> None:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=QueuePool, pool_size=1, max_overflow=0, pool_timeout=0.01)
    with engine.connect(), pytest.raises(sqlalchemy.exc.TimeoutError) as caught:
        engine.connect()
    engine.dispose()

    assert judge(caught.value) == OUTAGE


def test_a_sqlite_file_that_another_connection_writes_to_is_an_outage(create: Create, sqlite_url: str) -> None:
    with create(sqlite_url).begin():
        error = failing(lambda: create(sqlite_url).begin().__enter__())

    assert judge(error) == OUTAGE


def test_a_sqlite_file_that_another_process_locked_before_we_connect_is_an_outage(
    create: Create, tmp_path: Path
) -> None:
    path = tmp_path / "locked.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        error = failing(lambda: create(f"sqlite:///{path}").connect())

    assert judge(error) == OUTAGE


def test_a_full_sqlite_database_is_an_outage(create: Create, sqlite_url: str) -> None:
    with create(sqlite_url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE heap (bytes)")
        connection.exec_driver_sql("PRAGMA max_page_count = 3")

        error = failing(lambda: connection.exec_driver_sql("INSERT INTO heap VALUES (randomblob(100000))"))

    assert judge(error) == OUTAGE


def test_a_sqlite_folder_that_is_gone_is_an_outage(create: Create, tmp_path: Path) -> None:
    engine = create(f"sqlite:///{tmp_path / 'folder' / 'gone.sqlite3'}")
    (tmp_path / "folder").rmdir()

    assert judge(failing(lambda: engine.connect())) == OUTAGE


def test_a_sqlite_database_that_is_read_only_refuses(create: Create, sqlite_url: str) -> None:
    with create(sqlite_url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE heap (bytes)")
        connection.exec_driver_sql("PRAGMA query_only = ON")

        error = failing(lambda: connection.exec_driver_sql("INSERT INTO heap VALUES (1)"))

    assert judge(error) == REFUSED


def test_a_row_that_breaks_a_constraint_costs_an_attempt(create: Create, sqlite_url: str) -> None:
    with create(sqlite_url).begin() as connection:
        connection.exec_driver_sql("CREATE TABLE one (number UNIQUE)")
        connection.exec_driver_sql("INSERT INTO one VALUES (1)")

        error = failing(lambda: connection.exec_driver_sql("INSERT INTO one VALUES (1)"))

    assert judge(error) == TRANSIENT


def wrapped(original: Exception, base: type[Exception]) -> DBAPIError:
    """`original` as SQLAlchemy raises it."""
    return cast(DBAPIError, DBAPIError.instance("SELECT 1", {}, original, base))


def failing(call: Callable[[], object]) -> DBAPIError:
    """The error that `call` raises."""
    with pytest.raises(DBAPIError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(
    "statement",
    ["SELECT 1 FROM missing", "SELECT missing FROM known", "INSERT INTO known (missing) VALUES (1)"],
    ids=["table", "column", "column to write"],
)
def test_a_sqlite_file_that_is_not_migrated_is_nobodys_fault(create: Create, sqlite_url: str, statement: str) -> None:
    engine = create(sqlite_url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE known (id INTEGER)")
    with pytest.raises(sqlalchemy.exc.OperationalError) as caught, engine.begin() as connection:
        connection.exec_driver_sql(statement)

    assert judge(caught.value) == OUTAGE
