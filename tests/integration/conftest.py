"""Fixtures for whole event paths."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from core.topology import Topology
from tests.system import System


@pytest.fixture
def system(process_environ: dict[str, str], topology: Topology, tmp_path: Path) -> Iterator[System]:
    """An event path on the shared services with names of its own; SQLite."""
    one = System(process_environ, topology, tmp_path)
    yield one
    one.close()
