"""What holds for every provider of the registry, so that adding one without it fails here."""

import importlib
import inspect
from pathlib import Path

import pytest

from providers import registry
from tests.unit.providers.security_cases import SecurityCases

HERE = Path(__file__).parent


def security_cases() -> dict[str, type[SecurityCases]]:
    """Provider name → the class that runs the shared security cases for it."""
    modules = (importlib.import_module(f"tests.unit.providers.{path.stem}") for path in HERE.glob("test_*.py"))
    members = (member for module in modules for _, member in inspect.getmembers(module, inspect.isclass))
    return {one.name: one for one in members if issubclass(one, SecurityCases) and hasattr(one, "name")}


@pytest.mark.parametrize("name", registry.known_names())
def test_every_provider_inherits_the_shared_security_cases(name: str) -> None:
    assert security_cases()[name].__name__.startswith("Test")


@pytest.mark.parametrize("name", registry.known_names())
def test_every_provider_says_in_at_most_seven_lines_how_it_is_set_up(name: str) -> None:
    entry = registry.PROVIDERS[name]

    assert 3 <= len(entry.setup) <= 7
    assert any(entry.setting in line for line in entry.setup)
    assert all(line.strip() for line in entry.setup)


@pytest.mark.parametrize("name", registry.known_names())
def test_every_provider_has_recorded_payloads(name: str) -> None:
    assert list((HERE.parents[1] / "payloads" / name).iterdir())
