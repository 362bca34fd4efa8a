"""A whole deployment for each test: shared services, names of its own, and nothing of it left behind."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.topology import Topology, queue_prefix
from dev.services import RabbitMQ, RedisServer
from tests.e2e.deployment import BIN, Deployment
from tests.isolation import RETRY_DELAYS_S, environ_of, own_keys
from tests.system import System


@pytest.fixture
def deployment(process_environ: dict[str, str], topology: Topology, tmp_path: Path) -> Iterator[Deployment]:
    """An event path that is deployed by hand: SQLite, both providers, `mailward` on the PATH; nothing runs yet."""
    environ = process_environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    one = Deployment(System(environ, topology, tmp_path))
    yield one
    one.close()


@pytest.fixture(scope="module")
def standing_deployment(
    rabbitmq: RabbitMQ, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """The same for all tests of a module, with names and keys of its own."""
    name, directory = f"test-{uuid.uuid4().hex[:12]}", tmp_path_factory.mktemp("deployment")
    with own_keys(redis_server, name) as prefix:
        environ = environ_of(
            name, rabbitmq.url, redis_server.url, prefix, f"sqlite:///{directory / 'mailward.sqlite3'}"
        )
        environ["PATH"] = f"{BIN}:{environ['PATH']}"
        one = Deployment(System(environ, Topology(queue_prefix(name), RETRY_DELAYS_S), directory))
        yield one
        one.close()
