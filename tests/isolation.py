"""What keeps tests on shared services apart: names, keys and databases that belong to one test."""

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pika
import pytest
import redis
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPError

from core import topology as broker_topology
from core.topology import Topology
from dev.rabbitmq import QUORUM_QUEUE_SETTLES_S
from dev.services import PostgreSQL, RabbitMQ, RedisServer

RETRY_DELAYS_S = (1, 2)  # the shortest that rise: a test of three attempts takes three seconds


@pytest.fixture
def environment_name() -> str:
    """A MAILWARD_ENV of this test's own, hence its own queue names."""
    return f"test-{uuid.uuid4().hex[:12]}"


@contextmanager
def declared(amqp_url: str, topology: Topology) -> Iterator[BlockingChannel]:
    """A confirming channel on which `topology` has been declared; queues and exchanges are deleted at the end."""
    try:
        with _channel(amqp_url) as channel:
            broker_topology.declare(channel, topology)
            yield channel
    finally:  # on a connection of its own: the test may have closed or broken the other
        with _channel(amqp_url) as channel:
            _delete(channel, topology)


@pytest.fixture
def topology(environment_name: str) -> Topology:
    """Names of this test's own, with delays of 1 s and 2 s; declared once the test also asks for `channel`."""
    return Topology(broker_topology.queue_prefix(environment_name), RETRY_DELAYS_S)


@pytest.fixture
def channel(rabbitmq: RabbitMQ, topology: Topology) -> Iterator[BlockingChannel]:
    """A confirming channel on the shared broker, with `topology` declared."""
    with declared(rabbitmq.url, topology) as channel:
        yield channel


@pytest.fixture
def own_channel(own_rabbitmq: RabbitMQ, topology: Topology) -> Iterator[BlockingChannel]:
    """A confirming channel on the broker that the test may stop, kill and freeze, with `topology` declared for as long
    as that broker lives."""
    with _channel(own_rabbitmq.url) as channel:
        broker_topology.declare(channel, topology)
        time.sleep(QUORUM_QUEUE_SETTLES_S)
        yield channel


@pytest.fixture
def redis_prefix(redis_server: RedisServer, environment_name: str) -> Iterator[str]:
    """A key prefix of this test's own on the shared store."""
    with own_keys(redis_server, environment_name) as prefix:
        yield prefix


@contextmanager
def own_keys(redis_server: RedisServer, environment_name: str) -> Iterator[str]:
    """A key prefix on the store; every key under it is deleted at the end."""
    prefix = f"{environment_name}:"
    yield prefix
    with redis.Redis.from_url(redis_server.url) as client:
        for key in client.scan_iter(f"{prefix}*", count=1000):
            client.delete(key)


@pytest.fixture
def redis_client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client of the shared store."""
    with redis.Redis.from_url(redis_server.url) as client:
        yield client


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'mailward.sqlite3'}"


@pytest.fixture
def postgresql_url(postgresql: PostgreSQL) -> Iterator[str]:
    """A new and empty database on the shared cluster."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    postgresql.execute(f"CREATE DATABASE {name}")
    yield postgresql.database_url(name)
    postgresql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database; the test runs once on each engine."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def process_environ(
    environment_name: str, rabbitmq: RabbitMQ, redis_server: RedisServer, redis_prefix: str, sqlite_url: str
) -> dict[str, str]:
    """The whole environment of a process of ours that works on this test's own names; change it before starting one."""
    return environ_of(environment_name, rabbitmq.url, redis_server.url, redis_prefix, sqlite_url)


def environ_of(
    environment_name: str, amqp_url: str, redis_url: str, redis_prefix: str, database_url: str
) -> dict[str, str]:
    """The whole environment of a process of ours that works on names of its own."""
    return {
        "PATH": os.environ["PATH"],
        "MAILWARD_ENV": environment_name,
        "AMQP_URL": amqp_url,
        "REDIS_URL": redis_url,
        "DATABASE_URL": database_url,
        "RECIPIENT_KEY": f"{redis_prefix}{{address}}",
        "RETRY_DELAYS": ",".join(map(str, RETRY_DELAYS_S)),
    }


@contextmanager
def _channel(amqp_url: str) -> Iterator[BlockingChannel]:
    connection = pika.BlockingConnection(pika.URLParameters(amqp_url))
    channel = connection.channel()
    channel.confirm_delivery()
    try:
        yield channel
    finally:
        with suppress(AMQPError):  # the broker may be gone, or the test has closed the connection
            connection.close()


def _delete(channel: BlockingChannel, topology: Topology) -> None:
    for queue in broker_topology.queue_names(topology):
        channel.queue_delete(queue)
    for exchange in (topology.work_exchange, topology.retry_exchange, topology.dead_letter_exchange):
        channel.exchange_delete(exchange)
