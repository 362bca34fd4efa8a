"""A progress bar over a file that is being read; silent where nobody watches."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import click

STEP = 256 * 1024  # bytes between two looks of the bar


class _Counted:
    """A source that tells a bar how far it has been read."""

    def __init__(self, file: BinaryIO, advance: Callable[[int], None]) -> None:
        self._file, self._advance, self._read = file, advance, 0

    def readline(self, size: int = -1, /) -> bytes:
        return self._count(self._file.readline(size))

    def read(self, size: int = -1, /) -> bytes:
        return self._count(self._file.read(size))

    def _count(self, data: bytes) -> bytes:
        self._read += len(data)
        if self._read >= STEP or not data:
            self._advance(self._read)
            self._read = 0
        return data


@contextmanager
def progress(file: BinaryIO, label: str) -> Iterator["BinaryIO | _Counted"]:
    """`file`, with a bar on standard error while it is read, if that is a terminal and the file's size is known."""
    size = _size(file)
    if not size or not sys.stderr.isatty():
        yield file
        return
    with click.progressbar(length=size, label=label, file=sys.stderr) as bar:
        yield _Counted(file, bar.update)


def _size(file: BinaryIO) -> int:
    try:
        status = os.fstat(file.fileno())
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
