"""One server per data directory, across processes; the kernel releases the lock even when its holder is killed."""

import fcntl
import os
from pathlib import Path
from typing import TextIO


class DirectoryInUse(RuntimeError):
    """Another process holds the directory; the text names it."""


class DirectoryLock:
    """A lock on `directory`, taken and released any number of times."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file: TextIO | None = None

    def take(self) -> None:
        """Hold the directory; harmless to repeat. Raises DirectoryInUse."""
        if self._file:
            return
        file = (self._directory / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip()
            file.close()
            raise DirectoryInUse(f"{self._directory} is in use by process {holder}: end that run first") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let others have it; harmless to repeat."""
        if self._file:
            self._file.close()
            self._file = None
