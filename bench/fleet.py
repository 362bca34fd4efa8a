"""Processes of the Procfile, several of some, started and killed at will; they end with the thread of their start."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.environment import ROOT
from dev import processes

PATH = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
STOP_S = 30.0


class EndedByItself(RuntimeError):
    """A process ended that nobody had killed; the text says which, and where its log is."""


def commands() -> dict[str, list[str]]:
    """The words of the Procfile and their commands."""
    lines = (ROOT / "Procfile").read_text().splitlines()
    return {word: command.split() for word, _, command in (line.partition(":") for line in lines)}


class Fleet:
    """Processes by name: a word of the Procfile, with a dot and a number where there are several."""

    def __init__(self, environ: Mapping[str, str], directory: Path) -> None:
        self._environ = {"PATH": PATH, **environ}
        self._directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        """Start processes; what they say is in `log(name)`."""
        known = commands()
        for name in names:
            self.spawn(name, known[name.partition(".")[0]])

    def spawn(self, name: str, command: Iterable[str]) -> None:
        """Start any other command under a name."""
        self._running[name] = processes.spawn(list(command), self._environ, ROOT, self.log(name))

    def log(self, name: str) -> Path:
        """The file with everything that processes of this name have said."""
        return self._directory / f"{name}.log"

    def kill(self, name: str) -> None:
        """`kill -9` a process with all its children."""
        process = self._running.pop(name)
        processes.signal_tree(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, *names: str) -> None:
        """Ask processes (all, if none is named) to end; kill those that do not."""
        ending = {name: self._running[name] for name in names or tuple(self._running)}
        for process in ending.values():
            process.terminate()
        for name, process in ending.items():
            try:
                process.wait(STOP_S)
                del self._running[name]
            except subprocess.TimeoutExpired:
                self.kill(name)

    def check(self) -> None:
        """Raise EndedByItself unless everything that was started and not killed still runs."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise EndedByItself(f"{name} ended with status {process.returncode}; see {self.log(name)}")
