"""What makes these tests system tests: they know the product by its doors alone."""

import ast
from pathlib import Path

import pytest

INSIDES = {"config", "consumer", "core", "ops", "providers", "sender", "webhook"}
FILES = sorted(Path(__file__).parent.glob("*.py"))
# The topology fixture is typed with a class of ours; nothing else of it is used.
ALLOWED = {"conftest.py": {"core.topology"}}


def imported(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return modules


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_system_test_imports_the_insides_of_the_product(path: Path) -> None:
    insides = {module for module in imported(path) if module.split(".")[0] in INSIDES}

    assert insides <= ALLOWED.get(path.name, set())
