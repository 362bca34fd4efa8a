"""Fixtures for whole event paths, and for the tables alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import redis
from sqlalchemy import Engine

from core import database
from core.tables import metadata
from core.topology import Topology
from dev.sandbox.server import API_KEY, SandboxServer
from dev.services import PostgreSQL, RabbitMQ, RedisServer
from sender.clients.resend import Resend
from tests.sending import Provider, World
from tests.system import System
from tests.whole_path import WholePath, opened


@pytest.fixture
def system(process_environ: dict[str, str], topology: Topology, tmp_path: Path) -> Iterator[System]:
    """An event path on the shared services with names of its own; SQLite."""
    one = System(process_environ, topology, tmp_path)
    yield one
    one.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Empty tables of this version; the test runs once on each engine."""
    one: Engine = request.getfixturevalue(f"{request.param}_tables")
    with one.begin() as connection:
        for table in reversed(metadata.sorted_tables):  # children first
            connection.execute(table.delete())
    return one


@pytest.fixture
def world(engine: Engine, redis_client: redis.Redis, redis_prefix: str) -> Iterator[World]:
    """A ledger with a worker on it, on each engine; its environment is this test's own."""
    env = redis_prefix.rstrip(":")
    yield World(engine, redis_client, env)
    for key in redis_client.scan_iter(f"mailward:{env}:*"):
        redis_client.delete(key)


@pytest.fixture
def sandbox(shared_sandbox: SandboxServer) -> SandboxServer:
    """What stands for Resend, empty and without faults."""
    shared_sandbox.reset()
    return shared_sandbox


@pytest.fixture
def sandboxed(world: World, sandbox: SandboxServer) -> World:
    """A ledger with a worker that sends through the real client to the sandbox."""
    return World(world.engine, world.redis, world.env, provider=cast(Provider, Resend(API_KEY, sandbox.url)))


@pytest.fixture(scope="session")
def shared_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxServer]:
    """The one behind `sandbox`: a start takes a second, to forget everything a millisecond."""
    with SandboxServer(tmp_path_factory.mktemp("sandbox")) as server:
        yield server


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The one behind `engine`: migrated once, emptied for each test."""
    yield from _migrated(f"sqlite:///{tmp_path_factory.mktemp('tables') / 'mailward.sqlite3'}")


@pytest.fixture(scope="session")
def postgresql_tables(postgresql: PostgreSQL) -> Iterator[Engine]:
    """The one behind `engine`: a database costs half a second, emptying its tables a millisecond."""
    postgresql.execute("CREATE DATABASE tables")
    yield from _migrated(postgresql.database_url("tables"))


def _migrated(database_url: str) -> Iterator[Engine]:
    engine = database.create(database_url)
    database.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def whole(
    rabbitmq: RabbitMQ, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WholePath]:
    """The one behind `path`: its queues cost a quarter of a second, to empty them a few milliseconds."""
    with opened(rabbitmq, redis_server, tmp_path_factory.mktemp("path")) as one:
        yield one


@pytest.fixture
def path(whole: WholePath) -> WholePath:
    """All providers through endpoint, broker and consumer, with nothing in hand."""
    whole.reset()
    return whole
