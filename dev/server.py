"""The life of one private server, from free ports to the last signal; which server it is, a subclass says."""

import atexit
import contextlib
import os
import re
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from dev import processes
from dev.directory_lock import DirectoryInUse, DirectoryLock
from dev.ports import free_port

READY_TIMEOUT_S = 60.0  # RabbitMQ needs 5 s on two idle cores; this allows for a machine ten times as busy
STOP_TIMEOUT_S = 30.0
PORT_RELEASE_S = 1.0  # what holds our port while we are down is a passing connection, if anything
PORT_TAKEN = re.compile(rb"eaddrinuse|address (already )?in use", re.IGNORECASE)


class ServerFailed(RuntimeError):
    """A private server did not come up or refused a command; the text says what to do."""


class ServerMissing(ServerFailed):
    """The server is not installed on this machine."""


class Server(ABC):
    """A server on 127.0.0.1 with all its data under one directory, as a context manager or by start() and stop().

    The ports are chosen at the first start and kept by every later one. The directory may be left over from a run that
    was killed. Start it from a thread that lives as long as the server should: it ends with that thread.
    """

    name: ClassVar[str]
    variable: ClassVar[str]  # the setting that takes `url`
    port_count: ClassVar[int] = 1
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.log = self.directory / "server.log"
        self.ports: tuple[int, ...] = ()
        self._processes: list[subprocess.Popen[bytes]] = []  # the server itself is the last one
        self._lock = DirectoryLock(self.directory)
        self._owner = os.getpid()
        self._has_served = False

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL that clients connect with; it stays the same across restarts."""

    @abstractmethod
    def _launch(self) -> None:
        """Write configuration and spawn the processes, without waiting."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether a client would be served now; may block for about a second."""

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        return self.ports[0]

    @property
    def running(self) -> bool:
        """Whether the server's process exists, frozen or not."""
        return bool(self._processes) and self._processes[-1].poll() is None

    @property
    def pid(self) -> int:
        """Process id of the server itself."""
        return self._processes[-1].pid

    def start(self) -> Self:
        """Start and wait until it serves; raises ServerFailed with the end of its log after READY_TIMEOUT_S seconds."""
        self.launch()
        self.wait_until_ready()
        return self

    def launch(self) -> None:
        """Start without waiting, so that several servers can boot at once."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.take()
        except DirectoryInUse as error:
            raise ServerFailed(str(error)) from error
        self.ports = self.ports or tuple(free_port() for _ in range(self.port_count))
        self.log.unlink(missing_ok=True)
        atexit.register(self._end_with_owner)
        try:
            self._launch()
        except BaseException:
            self.kill()
            raise

    def wait_until_ready(self) -> None:
        """Wait until it serves; where somebody took its port, try again: on others unless it has served before."""
        for tries_left in (2, 1, 0):
            if self._came_up():
                self._has_served = True
                return
            problem, tail = self._problem(), self._log_tail()
            self.kill()
            if not tries_left or not PORT_TAKEN.search(tail):
                raise ServerFailed(f"{problem}; the end of {self.log}:\n{tail.decode(errors='replace')}")
            if self._has_served:
                time.sleep(PORT_RELEASE_S)
            else:
                self.ports = ()
            self.launch()

    def stop(self) -> None:
        """Shut down in good order, data kept; killed if that takes more than STOP_TIMEOUT_S seconds."""
        if self.running:
            self.thaw()
            self._processes[-1].send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._processes[-1].wait(STOP_TIMEOUT_S)
        self.kill()

    def kill(self) -> None:
        """End it at once, as a power cut would; data that it synced is kept."""
        for process in reversed(self._processes):
            if process.poll() is None:
                processes.signal_tree(process.pid, signal.SIGKILL)
            process.wait()
        self._processes = []
        self._lock.release()
        atexit.unregister(self._end_with_owner)

    def freeze(self) -> None:
        """Make it a black hole: connections stay open and new ones are taken by the kernel, nothing answers."""
        processes.signal_tree(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Undo freeze()."""
        processes.signal_tree(self.pid, signal.SIGCONT)

    def restart(self) -> None:
        """stop() and start() on the same ports and data."""
        self.stop()
        self.start()

    def revive(self) -> None:
        """Bring it back to service from whatever was done to it: stopped, killed or frozen."""
        if self.running:
            self.thaw()
        if not (self.running and self._answers()):
            self.kill()
            self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _spawn(self, command: Sequence[str], environ: Mapping[str, str], user: str = "") -> None:
        self._processes.append(processes.spawn(command, environ, self.directory, self.log, user))

    def _came_up(self) -> bool:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while self.running and time.monotonic() < deadline:
            if self._answers():
                return True
            time.sleep(0.02)
        return False

    def _problem(self) -> str:
        if self.running:
            return f"{self.name} did not answer on port {self.port} within {READY_TIMEOUT_S:.0f} s"
        return f"{self.name} ended with status {self._processes[-1].returncode} before it answered on port {self.port}"

    def _log_tail(self, lines: int = 20) -> bytes:
        return b"\n".join(self.log.read_bytes().splitlines()[-lines:])

    def _end_with_owner(self) -> None:
        if os.getpid() == self._owner:  # a forked child runs our exit hooks too
            self.kill()
