"""Guards of the house: what no reviewer should have to look for."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config.settings import load
from consumer.workers import PROCESSES, WORKERS, consumed_queues
from core.topology import Topology

ROOT = Path(__file__).parent.parent
SHIPPED = ("config", "core", "providers", "webhook", "consumer", "ops")


def procfile() -> dict[str, str]:
    """Process name → command."""
    lines = (ROOT / "Procfile").read_text().splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines if line.strip())}


def sources() -> list[Path]:
    return [path for package in SHIPPED for path in (ROOT / package).rglob("*.py")]


def test_every_work_queue_is_consumed_by_a_process_of_the_procfile() -> None:
    topology = Topology()
    consumed = consumed_queues(topology)
    assert set(consumed) == {queue.name for queue in topology.work_queues}
    for word in consumed.values():
        assert word in WORKERS
        assert f"python -m consumer {word}" in procfile().values()


def test_every_worker_is_a_process_of_the_procfile() -> None:
    assert {f"python -m consumer {word}" for word in PROCESSES} <= set(procfile().values())


def test_imports_go_one_way() -> None:
    done = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_loop_catches_every_exception(path: Path) -> None:
    broad = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in {"Exception", "BaseException"}))
    ]
    allowed = path == ROOT / "consumer" / "loop.py"
    assert allowed or broad == []


def test_nothing_connects_or_reads_settings_when_imported() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sources()
        if path.name not in {"__main__.py", "env.py", "gunicorn.conf.py"}
    ]
    script = "import importlib, socket, sys\ndef no(*_): sys.exit('connected at import')\nsocket.socket.connect = no\n"
    script += f"for module in {modules!r}: importlib.import_module(module)"
    nothing = {"PATH": os.environ["PATH"], "AMQP_URL": "nonsense", "PORT": "nonsense"}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=nothing, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_route_demands_a_token_or_is_listed_as_public(monkeypatch: pytest.MonkeyPatch) -> None:
    from webhook import wsgi
    from webhook.app import PUBLIC

    monkeypatch.setattr(wsgi.os, "environ", {"API_TOKENS": "a-made-up-token-of-24-chars", "DATABASE_URL": "sqlite://"})
    wsgi._app.cache_clear()
    app = wsgi._app()
    wsgi._app.cache_clear()
    client = app.test_client()
    guarded = [rule for rule in app.url_map.iter_rules() if rule.endpoint not in PUBLIC]
    assert guarded, "the API has routes"
    for rule in guarded:
        url = re.sub(r"<[^>]*>", "reader%40example.com", rule.rule)
        for method in (rule.methods or set()) - {"OPTIONS", "HEAD"}:
            assert client.open(url, method=method).status_code == 401, f"{method} {rule.rule}"
    assert {rule.endpoint for rule in app.url_map.iter_rules()} >= PUBLIC


def test_the_procfile_commands_name_what_exists() -> None:
    assert set(procfile()) == {"release", "web", *PROCESSES}
    assert (ROOT / "config" / "gunicorn.conf.py").exists()


def test_settings_of_the_example_load() -> None:
    lines = (ROOT / "config" / "example.env").read_text().splitlines()
    pairs = [line.partition("=") for line in lines if re.match(r"[A-Z_]+=", line)]
    load({name: value for name, _, value in pairs})


@pytest.mark.parametrize(
    "pattern", [r"\.\./shared", r"/work/", r"/root/", r"pypi\.org", r"registry\.npmjs", r"deb\.debian\.org"]
)
def test_no_committed_file_names_a_machine_path_or_a_package_registry(pattern: str) -> None:
    done = subprocess.run(
        ["git", "grep", "-nIE", pattern, "--", ".", ":!tests/test_architecture.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
