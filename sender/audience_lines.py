"""The numbered lines of an uploaded stream: read in chunks, of bounded length, whatever the stream holds.

core.recipient_files reads one line at a time, and lines as long as a record may be; here a million lines have to pass,
each of them short.
"""

from collections.abc import Iterator
from typing import Protocol

from core.recipient_files import BadLine

LONGEST_LINE = 64 * 1024  # bytes: an address and merge fields; more is a file that lacks its line ends
_CHUNK = 256 * 1024  # bytes


class Source(Protocol):
    """What is read: a binary file, a request's stream, or anything else that gives bytes until it gives none."""

    def read(self, size: int = -1, /) -> bytes: ...


def lines(source: Source) -> Iterator[tuple[int, str | BadLine]]:
    """Every line with its number from 1, without its line feed; one that is too long or not UTF-8 as a BadLine."""
    for number, raw in enumerate(_raw_lines(source), 1):
        if raw is None or len(raw) > LONGEST_LINE:
            yield number, BadLine(number, f"longer than {LONGEST_LINE // 1024} KiB")
            continue
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield number, BadLine(number, "not UTF-8")


def _raw_lines(source: Source) -> Iterator[bytes | None]:
    """The bytes of each line; None for one that was not kept because it is too long."""
    rest, skipping = b"", False
    while chunk := source.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        if skipping and whole:
            yield None
            del whole[0]
            skipping = False
        yield from whole
        if skipping or len(rest) > LONGEST_LINE:
            rest, skipping = b"", True
    if skipping:
        yield None
    elif rest:
        yield rest
