"""What real stores raise when they refuse or are away, and that the table of failures knows it."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread

import pytest
import redis
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from consumer.retry import Refusals
from core import database, journal
from core.clock import utc_now
from core.decide import Outcome
from core.errors import Outage, Transient
from core.failures import Verdict, judge
from core.journal import Entry
from core.recipients import RecipientStore
from dev.services import PostgreSQL, RedisServer
from tests.system import event

REFUSED, OUTAGE, TRANSIENT = Verdict(Transient, refusal=True), Verdict(Outage), Verdict(Transient)
RECORD = b"{}"


class Redis:
    """A Redis of this test's own, and the ways to make it refuse."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self.client = redis.Redis.from_url(server.url)
        self.store = RecipientStore(self.client, "recipient:{address}")
        self.store.put("jane", RECORD)
        self.delete(key="recipient:joe")

    def delete(self, key: str = "recipient:jane") -> None:
        self.store.delete_if_unchanged([(key, RECORD)])

    def read(self) -> None:
        self.store.read(["recipient:jane"])

    def write(self) -> None:
        self.store.put("joe", RECORD)

    def becomes_a_replica(self) -> None:
        self._server.cli("REPLICAOF", "127.0.0.1", "1")

    def becomes_a_replica_that_answers_nothing(self) -> None:
        self._server.cli("CONFIG", "SET", "replica-serve-stale-data", "no")
        self.becomes_a_replica()

    def is_full(self) -> None:
        self._server.cli("CONFIG", "SET", "maxmemory", "1")

    def has_no_replicas(self) -> None:
        self._server.cli("CONFIG", "SET", "min-replicas-to-write", "1")

    def cannot_save(self) -> None:
        self._server.cli("CONFIG", "SET", "save", "3600 1")
        (self._server.directory / "dump.rdb").mkdir()
        self._server.cli("BGSAVE")
        while "rdb_last_bgsave_status:ok" in self._server.cli("INFO", "persistence"):
            time.sleep(0.01)

    def takes_no_more_clients(self) -> None:
        self._server.cli("CONFIG", "SET", "maxclients", "1")  # this one stays connected, the next is turned away
        self._as_user(redis.Redis.from_url(self._server.url))

    def forbids_deleting(self) -> None:
        self._permits("+@all", "-del", keys="recipient:*")

    def forbids_writing(self) -> None:
        self._permits("+@all", "-set", keys="recipient:*")

    def forbids_these_keys(self) -> None:
        self._permits("+@all", keys="other:*")

    def forbids_scripts(self) -> None:
        self._permits("+@all", "-@scripting", keys="recipient:*")

    def knows_another_password(self) -> None:
        self._as_user(redis.Redis.from_url(self._server.url, username="nobody", password="wrong"))

    def is_stopped(self) -> None:
        self._server.stop()

    def is_frozen(self) -> None:
        self._server.freeze()
        self._as_user(redis.Redis.from_url(self._server.url, socket_timeout=0.2, socket_connect_timeout=0.2))

    def jane_is_a_hash(self) -> None:
        self._server.cli("DEL", "recipient:jane")
        self._server.cli("HSET", "recipient:jane", "field", "value")

    def _permits(self, *commands: str, keys: str) -> None:
        self._server.cli("ACL", "SETUSER", "limited", "on", "nopass", f"~{keys}", *commands)
        self._as_user(redis.Redis.from_url(self._server.url, username="limited", password="any"))

    def _as_user(self, client: redis.Redis) -> None:
        self.client = client
        self.store = RecipientStore(client, "recipient:{address}")


@pytest.fixture
def own(own_redis: RedisServer) -> Iterator[Redis]:
    one = Redis(own_redis)
    first = one.client
    yield one
    one.client.close()
    first.close()


@pytest.mark.parametrize(
    ("condition", "call", "verdict"),
    [
        (Redis.becomes_a_replica, Redis.delete, REFUSED),
        (Redis.becomes_a_replica, Redis.write, REFUSED),
        (Redis.becomes_a_replica_that_answers_nothing, Redis.read, OUTAGE),
        (Redis.is_full, Redis.write, REFUSED),
        (Redis.has_no_replicas, Redis.delete, REFUSED),
        (Redis.has_no_replicas, Redis.write, REFUSED),
        (Redis.cannot_save, Redis.delete, REFUSED),
        (Redis.cannot_save, Redis.write, REFUSED),
        (Redis.forbids_deleting, Redis.delete, REFUSED),
        (Redis.forbids_writing, Redis.write, REFUSED),
        (Redis.forbids_these_keys, Redis.read, REFUSED),
        (Redis.forbids_these_keys, Redis.delete, REFUSED),
        (Redis.forbids_these_keys, Redis.write, REFUSED),
        (Redis.forbids_scripts, Redis.read, REFUSED),
        (Redis.knows_another_password, Redis.read, OUTAGE),
        (Redis.takes_no_more_clients, Redis.read, OUTAGE),
        (Redis.is_stopped, Redis.read, OUTAGE),
        (Redis.is_frozen, Redis.read, OUTAGE),
        (Redis.jane_is_a_hash, Redis.read, TRANSIENT),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_each_condition_of_redis_has_its_verdict(
    own: Redis, condition: Callable[[Redis], None], call: Callable[[Redis], None], verdict: Verdict
) -> None:
    condition(own)

    assert judge(raised(lambda: call(own))) == verdict


@pytest.mark.parametrize("call", [Redis.read, Redis.delete])
def test_a_redis_without_memory_still_reads_and_deletes(own: Redis, call: Callable[[Redis], None]) -> None:
    own.is_full()

    call(own)


def test_fifty_refusals_of_different_keys_are_an_outage(own: Redis) -> None:
    own.store.put_many((f"reader{number}", RECORD) for number in range(50))
    own.becomes_a_replica()
    refusals = Refusals()
    errors = (raised(partial(own.delete, f"recipient:reader{number}")) for number in range(50))

    assert [refusals.add(error) for error in errors] == [False] * 49 + [True]


def test_a_script_that_never_ends_is_an_outage(own: Redis, own_redis: RedisServer) -> None:
    own_redis.cli("CONFIG", "SET", "busy-reply-threshold", "10")
    with redis.Redis.from_url(own_redis.url) as other:
        endless = Thread(target=raised, args=(lambda: other.eval("while true do end", 0),))
        endless.start()
        time.sleep(0.3)

        error = raised(own.read)

        own_redis.cli("SCRIPT", "KILL")
        endless.join()
    assert judge(error) == OUTAGE


@pytest.fixture
def own_engine(postgresql_url: str) -> Iterator[Engine]:
    """Tables in a database that this test may change."""
    engine = database.create(postgresql_url, busy_timeout_s=0.1)
    database.upgrade(engine)
    yield engine
    engine.dispose()


def alter(postgresql: PostgreSQL, engine: Engine, change: str) -> None:
    """Change the settings of the test's database, for connections from now on."""
    postgresql.execute(f"ALTER DATABASE {engine.url.database} {change}")
    engine.dispose()


def intend(engine: Engine, number: int = 1) -> None:
    entry = Entry(event(number), f"recipient:reader{number}@example.com", Outcome.ABSENT, None)
    with engine.begin() as connection:
        journal.intend(connection, [entry], utc_now())


def test_a_read_only_postgresql_refuses(own_engine: Engine, postgresql: PostgreSQL) -> None:
    alter(postgresql, own_engine, "SET default_transaction_read_only = on")

    assert judge(raised(lambda: intend(own_engine))) == REFUSED


def test_fifty_refusals_of_a_read_only_postgresql_are_an_outage(own_engine: Engine, postgresql: PostgreSQL) -> None:
    alter(postgresql, own_engine, "SET default_transaction_read_only = on")
    refusals = Refusals()
    errors = (raised(partial(intend, own_engine, number)) for number in range(50))

    assert [refusals.add(error) for error in errors] == [False] * 49 + [True]


def test_a_postgresql_role_without_permission_refuses(own_engine: Engine, postgresql: PostgreSQL) -> None:
    with own_engine.begin() as connection:
        connection.exec_driver_sql("SET ROLE pg_monitor")  # a role that every cluster has and that owns no table

        error = raised(lambda: journal.intend(connection, [Entry(event(1), "key", Outcome.ABSENT, None)], utc_now()))

    assert judge(error) == REFUSED


def test_a_lock_that_another_transaction_keeps_is_an_outage(own_engine: Engine) -> None:
    with own_engine.begin() as connection:
        connection.exec_driver_sql("LOCK TABLE journal")

        assert judge(raised(lambda: intend(own_engine))) == OUTAGE


def test_a_statement_that_takes_too_long_is_an_outage(own_engine: Engine) -> None:
    with own_engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL statement_timeout = 50")

        assert judge(raised(lambda: connection.exec_driver_sql("SELECT pg_sleep(5)"))) == OUTAGE


def test_a_connection_that_the_server_ends_in_the_middle_is_an_outage(
    own_engine: Engine, postgresql: PostgreSQL
) -> None:
    with own_engine.connect() as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
        postgresql.execute(f"SELECT pg_terminate_backend({pid})")

        assert judge(raised(lambda: connection.exec_driver_sql("SELECT 1"))) == OUTAGE


def test_a_database_that_does_not_exist_is_an_outage(postgresql: PostgreSQL) -> None:
    engine = database.create(postgresql.database_url("nowhere"))

    assert judge(raised(engine.connect)) == OUTAGE
    engine.dispose()


def raised(call: Callable[[], object]) -> BaseException:
    """The error of a store that `call` raises."""
    with pytest.raises((redis.RedisError, DBAPIError, Transient)) as caught:
        call()
    return caught.value
