"""A deployment as a platform and an operator see it: processes, the command line, HTTP; nothing of its insides."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from dev.ports import free_port
from tests.e2e.posts import SETTINGS, Door
from tests.system import ROOT, System, wait_until

BIN = Path(sys.executable).parent


def processes_of(environment_name: str) -> list[int]:
    """Process ids of everything that runs with this MAILWARD_ENV, however deep below us, or no longer below us."""
    wanted = f"MAILWARD_ENV={environment_name}".encode()
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if wanted in _variables(path)]


def procfile() -> dict[str, str]:
    """Process name → command."""
    lines = (ROOT / "Procfile").read_text().splitlines()
    return {name: command.strip() for name, _, command in (line.partition(":") for line in lines)}


@dataclass
class Deployment:
    """The processes of one test and what can be seen of them from outside."""

    system: System
    port: int = field(default_factory=free_port)
    _doors: list[Door] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.environ.update(SETTINGS | {"PORT": str(self.port), "WEB_CONCURRENCY": "2"})
        # A send API that is not there: nothing is sent in these tests, least of all to a real one.
        self.environ.update({"RESEND_API_KEY": "re_made_up", "RESEND_API_URL": "http://127.0.0.1:1"})

    @property
    def environ(self) -> dict[str, str]:
        """The whole environment of every process that is started."""
        return self.system.environ

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def release(self) -> None:
        """What a platform runs before the processes of a new version."""
        assert self.run(procfile()["release"]).returncode == 0

    def run(self, command: str, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the Procfile to its end, as a platform does: through a shell."""
        return subprocess.run(
            ["/bin/sh", "-c", command], cwd=ROOT, env=self.environ | changes, capture_output=True, text=True, timeout=60
        )

    def start_web(self, *options: str, app: str = "", **changes: str) -> Door:
        """Start the web process, with further `options` of gunicorn, or with another `app` than the Procfile's; returns
        once it can take webhooks."""
        *command, own = procfile()["web"].split()
        process = self.system.start(*command, *options, app or own, name="web", **changes)
        wait_until(lambda: self.ready() or process.poll() is not None, f"{self.url}/readyz says 200")
        assert process.poll() is None, self.system.log("web")
        return self.open_door()

    def open_door(self) -> Door:
        """A connection of its own to the web process, once that can take webhooks."""
        wait_until(self.ready, f"{self.url}/readyz says 200")
        self._doors.append(Door(self.url))
        return self._doors[-1]

    def start_consumer(self, name: str = "events", **changes: str) -> subprocess.Popen[bytes]:
        """Start the consumer; returns once it consumes."""
        before = self.said(name, "consuming")
        process = self.system.start(name=name, **changes)
        wait_until(lambda: self.said(name, "consuming") > before or process.poll() is not None, "the consumer consumes")
        assert process.poll() is None, self.system.log(name)
        return process

    def mailward(self, *arguments: str, status: int = 0, text: bool = True) -> Any:
        """Standard output of a command of an operator; `text=False` for its bytes."""
        done = subprocess.run([BIN / "mailward", *arguments], env=self.environ, capture_output=True, timeout=120)
        assert done.returncode == status, (done.stdout + done.stderr).decode(errors="replace")
        return done.stdout.decode() if text else done.stdout

    def log_lines(self, name: str) -> Iterator[dict[str, Any]]:
        """What process `name` has logged, line by line."""
        for line in self.system.log(name).splitlines():
            if line.startswith("{"):
                yield json.loads(line)

    def said(self, name: str, message: str) -> int:
        """How often process `name` has logged `message`."""
        return sum(line.get("event") == message for line in self.log_lines(name))

    def dead(self) -> int:
        """Number of dead letters."""
        return self.system.depth(self.system.topology.events.dead_letters)

    def waiting(self) -> int:
        """Number of messages on the work queue that no consumer holds."""
        return self.system.depth(self.system.topology.events.name)

    def parked_items(self) -> int:
        """Number of items in the parked lane; looking returns every message."""
        items = 0
        with self.system.channel() as channel:
            while (found := channel.basic_get(self.system.topology.events.parked))[0] is not None:
                items += len(json.loads(found[2] or b"")["items"])
        return items

    def handled(self) -> int:
        """Items whose fate is sealed: applied or ignored, parked, or dead."""
        return sum(self.system.outcomes().values()) + self.parked_items() + self.dead()

    def close(self) -> None:
        """End everything that the test started, whatever has become of it."""
        for door in self._doors:
            door.close()
        for pid in processes_of(self.environ["MAILWARD_ENV"]):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.system.close()

    def ready(self) -> bool:
        """Whether the web process can take webhooks."""
        try:
            return requests.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except requests.RequestException:
            return False


def _variables(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\0")
    except OSError:  # it has ended, or belongs to another user
        return []
