"""`make demo` as a stranger sees it: a folder of its own, nothing but PATH in the environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system import ROOT

NAMES = {"accepted", "removed", "kept", "duplicates", "refused", "parked", "dead_letters", "replayed"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with everything that is in the repository, and nothing that a run has left in it."""
    for path in ROOT.iterdir():
        if not path.name.startswith("."):
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


def demo(checkout: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the demo to its end."""
    command = [sys.executable, "-m", "dev.demo"]
    clean = {"PATH": os.environ["PATH"], "HOME": str(checkout), "LANG": "C.UTF-8"} | environ
    return subprocess.run(command, cwd=checkout, env=clean, capture_output=True, text=True, timeout=150)


def test_the_demo_ends_by_itself_and_its_numbers_add_up(checkout: Path) -> None:
    done = demo(checkout)

    assert done.returncode == 0, done.stderr
    sums = json.loads(done.stdout.splitlines()[-1])
    assert sums.keys() >= NAMES
    assert sums["accepted"] == sum(sums[name] for name in ("removed", "kept", "duplicates", "parked", "dead_letters"))
    for name in NAMES - {"dead_letters"}:
        assert sums[name] > 0, f"the demo shows nothing of {name}"
    assert sums["dead_letters"] == 0
    assert processes_below(checkout) == []


def test_the_demo_refuses_production_and_starts_nothing(checkout: Path) -> None:
    done = demo(checkout, MAILWARD_ENV="production")

    assert done.returncode not in (0, None)
    assert "MAILWARD_ENV=production" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (checkout / ".mailward").exists()


def processes_below(checkout: Path) -> list[str]:
    """Commands of the processes that were started for this checkout and still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command, environ = path.read_bytes(), (path.parent / "environ").read_bytes()
        except OSError:  # ended meanwhile, or somebody else's
            continue
        if str(checkout).encode() in command + environ:
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found
