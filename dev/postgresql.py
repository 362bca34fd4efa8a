"""A private PostgreSQL cluster; it refuses to run as root, so root starts it as the user postgres."""

import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

import psycopg

from dev import processes
from dev.ports import LOOPBACK
from dev.server import Server, ServerFailed, ServerMissing

ROLE = "mailward"
DEBIAN_PROGRAMS = Path("/usr/lib/postgresql")


class PostgreSQL(Server):
    """A cluster with one superuser, no password, TCP on loopback only, and fsync on."""

    name = "PostgreSQL"
    variable = "DATABASE_URL"
    stop_signal = signal.SIGINT  # "fast": SIGTERM would wait until every client has gone

    @property
    def url(self) -> str:
        return self.database_url("postgres")

    def database_url(self, database: str) -> str:
        """URL of one database, in the form that both the settings and SQLAlchemy take."""
        return f"postgresql+psycopg://{ROLE}@{LOOPBACK}:{self.port}/{database}"

    def execute(self, statement: str) -> None:
        """Run one SQL statement outside a transaction, for example CREATE DATABASE; raises psycopg.Error."""
        with psycopg.connect(self._conninfo(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _launch(self) -> None:
        programs, user = _programs(), _user()
        data = self.directory / "data"
        if not (data / "PG_VERSION").exists():
            self._initialise(programs, data, user)
        self._remove_stale_pid_file(data / "postmaster.pid")
        settings = {"listen_addresses": LOOPBACK, "port": self.port, "unix_socket_directories": ""}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self._spawn([str(programs / "postgres"), "-D", str(data), *options], {}, user)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._conninfo(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _conninfo(self) -> str:
        return f"host={LOOPBACK} port={self.port} user={ROLE} dbname=postgres"

    def _initialise(self, programs: Path, data: Path, user: str) -> None:
        shutil.rmtree(data, ignore_errors=True)  # left half made by a run that was killed
        data.mkdir(mode=0o700)
        if user:
            shutil.chown(data, user, pwd.getpwnam(user).pw_gid)
            self._require_reachable(data, user)
        options = [
            "--auth=trust",
            f"--username={ROLE}",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
            "--no-instructions",
        ]
        command = [*processes.as_user(user), str(programs / "initdb"), "-D", str(data), *options]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServerFailed(f"initdb failed in {data}: {done.stderr.strip()}")

    def _remove_stale_pid_file(self, pid_file: Path) -> None:
        # PostgreSQL takes a zombie for a running server, and in a container often nobody reaps what was killed.
        if pid_file.exists() and not processes.is_alive(int(pid_file.read_text().split()[0])):
            pid_file.unlink()

    def _require_reachable(self, data: Path, user: str) -> None:
        test = [*processes.as_user(user), "test", "-w", str(data)]
        if subprocess.run(test, cwd="/", check=False).returncode:
            raise ServerFailed(
                f"the user {user}, who must own a PostgreSQL that root starts, cannot enter {data}: "
                f"use a directory whose parents everyone may pass through (chmod a+x), for example one under /tmp"
            )


def _user() -> str:
    if not processes.is_root():
        return ""
    known = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def _programs() -> Path:
    versions = sorted(DEBIAN_PROGRAMS.glob("*/bin/postgres"), key=lambda path: float(path.parent.parent.name))
    if versions:
        return versions[-1].parent
    on_path = shutil.which("postgres")
    if on_path:
        return Path(os.path.realpath(on_path)).parent
    raise ServerMissing("postgresql is not installed: `env -u DATABASE_URL bash dev/setup.sh test` installs it")
