"""What recipient files of both formats share: the lines of a stream, and the recipient that one of them stands for."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core import records
from core.decide import eligible_since

LINE_LIMIT = 16 * 1024 * 1024  # bytes; far above any record, and what one bad file may cost in memory


class Source(Protocol):
    """What is read: a binary file, or anything that gives one line at a time."""

    def readline(self, size: int = -1, /) -> bytes: ...


class BadFile(ValueError):
    """The file as a whole cannot be read, such as a CSV without the column address."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """One recipient to store. `consented_at` is set where consent is given beside a record that cannot carry it."""

    line: int
    address: str
    record: bytes
    consented_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that was not taken, and why, in words that hold nothing of it."""

    line: int
    reason: str


Read = Iterator[Recipient | BadLine]


def lines(source: Source) -> Iterator[tuple[int, str | BadLine]]:
    """The numbered lines of a UTF-8 stream, without a byte order mark; too long or not UTF-8: as a BadLine."""
    number = 0
    while raw := source.readline(LINE_LIMIT):
        number += 1
        if len(raw) >= LINE_LIMIT and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = source.readline(LINE_LIMIT)
            yield number, BadLine(number, f"longer than {LINE_LIMIT // 2**20} MiB")
            continue
        try:
            yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield number, BadLine(number, "not UTF-8")


def recipient(number: int, address: str, record: bytes, since: object, now: datetime) -> Recipient:
    """The recipient of one line, `since` (given beside the record) put into the record, or kept beside one that is no
    JSON object. Raises ValueError if `since` is not a time that counts.
    """
    if since is None or since == "":
        return Recipient(number, address, record)
    moment = eligible_since(json.dumps({records.FENCE: since}).encode(), now)
    if moment is None:
        raise ValueError("eligible_since is not a time, or lies in the future")
    stamped = records.stamp(record, moment)
    if stamped is None:
        return Recipient(number, address, record, moment)
    return Recipient(number, address, stamped)
