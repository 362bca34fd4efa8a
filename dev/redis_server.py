"""A private Redis, or Valkey where that is what the machine has."""

import shutil
import socket
import subprocess
from pathlib import Path

from dev.ports import LOOPBACK
from dev.server import Server, ServerFailed, ServerMissing


class RedisServer(Server):
    """A store that never evicts; `durable` syncs each write to an append-only file, else data ends with the process."""

    name = "Redis"
    variable = "REDIS_URL"

    def __init__(self, directory: Path, durable: bool = False) -> None:
        super().__init__(directory)
        self._durable = durable

    @property
    def url(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def cli(self, *arguments: str) -> str:
        """Output of redis-cli for one command; raises ServerFailed with the server's error."""
        command = [_program("cli"), "-e", "-h", LOOPBACK, "-p", str(self.port), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        if done.returncode:
            raise ServerFailed(f"redis-cli {' '.join(arguments)} failed: {done.stdout.strip()} {done.stderr.strip()}")
        return done.stdout.strip()

    def _launch(self) -> None:
        options = {
            "--bind": LOOPBACK,
            "--port": str(self.port),
            "--dir": str(self.directory),
            "--save": "",
            "--appendonly": "yes" if self._durable else "no",
            "--appendfsync": "always",
            "--maxmemory-policy": "noeviction",
        }
        self._spawn([_program("server"), *(word for option in options.items() for word in option)], {})

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(5) == b"+PONG"  # -LOADING while it reads its file
        except OSError:
            return False


def _program(kind: str) -> str:
    found = shutil.which(f"redis-{kind}") or shutil.which(f"valkey-{kind}")
    if not found:
        raise ServerMissing(
            f"neither redis-{kind} nor valkey-{kind} is installed: `env -u REDIS_URL bash dev/setup.sh` installs Redis"
        )
    return found
