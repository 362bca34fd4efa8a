"""Private services for the whole run, started on first use: services that the environment names are never touched."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from pika.exceptions import AMQPError

from core.topology import Topology
from dev.services import PostgreSQL, RabbitMQ, RedisServer, Server, ServerMissing

pytest_plugins = ["tests.isolation"]

AnyServer = TypeVar("AnyServer", bound=Server)


def pytest_configure() -> None:
    """Refuse to run where MAILWARD_ENV says production."""
    if os.environ.get("MAILWARD_ENV") == "production":
        raise pytest.UsageError(
            "MAILWARD_ENV=production: the tests refuse to run here (unset it, or run them elsewhere)"
        )


@pytest.fixture(scope="session")
def services_directory() -> Iterator[Path]:
    """A directory that the user postgres can pass through, which pytest's own temporary directories do not allow."""
    directory = Path(tempfile.mkdtemp(prefix="mailward-test-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def rabbitmq(services_directory: Path) -> Iterator[RabbitMQ]:
    """The broker that all tests share; nobody stops or freezes it."""
    yield from _serving(RabbitMQ(services_directory / "rabbitmq"))


@pytest.fixture(scope="session")
def redis_server(services_directory: Path) -> Iterator[RedisServer]:
    """The store that all tests share; nobody stops or freezes it."""
    yield from _serving(RedisServer(services_directory / "redis"))


@pytest.fixture(scope="session")
def postgresql(services_directory: Path) -> Iterator[PostgreSQL]:
    """The cluster that all tests share; nobody stops or freezes it."""
    yield from _serving(PostgreSQL(services_directory / "postgresql"))


@pytest.fixture
def own_rabbitmq(breakable_rabbitmq: RabbitMQ) -> Iterator[RabbitMQ]:
    """A broker to stop, kill and freeze at will, in service at the start of each test."""
    if not _takes_queues(breakable_rabbitmq):
        breakable_rabbitmq.kill()
        shutil.rmtree(breakable_rabbitmq.directory)
        breakable_rabbitmq.start()
    yield breakable_rabbitmq
    breakable_rabbitmq.revive()


@pytest.fixture(scope="session")
def breakable_rabbitmq(services_directory: Path) -> Iterator[RabbitMQ]:
    """The one behind `own_rabbitmq`: a boot costs seconds, so tests repair it instead of booting another."""
    yield from _serving(RabbitMQ(services_directory / "own-rabbitmq"))


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A fresh store to stop, kill and freeze at will; it syncs every write."""
    yield from _serving(RedisServer(tmp_path / "own-redis", durable=True))


@pytest.fixture
def own_postgresql(services_directory: Path) -> Iterator[PostgreSQL]:
    """A fresh cluster to stop, kill and freeze at will; its `url` is an empty database."""
    directory = Path(tempfile.mkdtemp(prefix="own-postgresql-", dir=services_directory))
    directory.chmod(0o711)
    yield from _serving(PostgreSQL(directory))


def _takes_queues(broker: RabbitMQ) -> bool:
    """Whether the broker does more than answer: killed just after a declaration, 3.10 may never take a queue again."""
    from tests.isolation import declared  # a plugin, which pytest wants to import itself

    try:
        with declared(broker.url, Topology(f"probe-{uuid.uuid4().hex}.", (1, 2))):
            pass
    except AMQPError:
        return False
    return True


def _serving(server: AnyServer) -> Iterator[AnyServer]:
    try:
        server.start()
    except ServerMissing as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    yield server
    server.kill()
