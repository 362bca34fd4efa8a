"""A whole deployment for each test: shared services, names of its own, and nothing of it left behind."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.topology import Topology
from tests.e2e.deployment import BIN, Deployment
from tests.system import System


@pytest.fixture
def deployment(process_environ: dict[str, str], topology: Topology, tmp_path: Path) -> Iterator[Deployment]:
    """An event path that is deployed by hand: SQLite, both providers, `mailward` on the PATH; nothing runs yet."""
    environ = process_environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    one = Deployment(System(environ, topology, tmp_path))
    yield one
    one.close()
