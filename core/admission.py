"""Let recipients in: one by an operator, which re-admits; many by a file, which do where they say since when."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from core import records
from core.addresses import Address
from core.decide import eligible_since
from core.recipient_files import BadLine, Recipient
from core.recipients import RecipientStore
from core.restore import readmit

SLICE = 1000  # records in one trip to Redis
SLICE_BYTES = 4 * 1024 * 1024  # or fewer, where records are large: memory stays bounded


@dataclass(frozen=True, slots=True)
class Added:
    """The record as stored, and under which key; `was` is the one that it replaced."""

    key: str
    record: bytes
    was: bytes | None


class BadFence(ValueError):
    """The given record has an `eligible_since` that is not a time, or lies in the future: it would count as absent."""


def add(
    store: RecipientStore, engine: Engine, address: Address, record: bytes | None, clock: Callable[[], datetime]
) -> Added:
    """Store the record of `address` and let it in again, whatever the journal has against it.

    A JSON object gets `eligible_since` = now, unless `record` brings its own. Without `record` the one that is there
    stays and only gets a new `eligible_since`; where there is none, it is `{}`. For other values the address's journal
    rows are marked restored. Raises BadFence.
    """
    now = clock()
    normal, verbatim = store.read([store.key(address.normal), store.key(address.verbatim)])
    if record is None:
        spelling = address.verbatim if normal is None and verbatim is not None else address.normal
        given = normal or verbatim or records.EMPTY
        stamped = records.stamp(given, now)
    else:
        spelling, given, stamped = address.normal, record, _with_fence(record, now)
    if stamped is None:  # no JSON object
        readmit(engine, [(address.normal, now)])  # first: an event that is decided after the write must see it
    stored = given if stamped is None else stamped
    store.put(spelling, stored)
    return Added(store.key(spelling), stored, verbatim if spelling == address.verbatim else normal)


def import_all(
    store: RecipientStore, engine: Engine, lines: Iterable[Recipient | BadLine], on_bad: Callable[[BadLine], None]
) -> int:
    """Store every recipient of `lines`, in order, replacing what is there; returns how many. Bad lines go to `on_bad`.

    A line re-admits only where it says since when (`eligible_since`). Safe to repeat after any failure.
    """
    stored = 0
    for part in _slices(lines, on_bad):
        consents = [(one.address, one.consented_at) for one in part if one.consented_at is not None]
        if consents:
            readmit(engine, consents)
        store.put_many((one.address, one.record) for one in part)
        stored += len(part)
    return stored


def _with_fence(record: bytes, now: datetime) -> bytes | None:
    """`record` with a usable `eligible_since`; None if it is no JSON object."""
    stamped = records.stamp(record, now)
    if stamped is None or records.fence(record) is None:
        return stamped
    if eligible_since(record, now) is None:
        raise BadFence("eligible_since is not a time, or lies in the future")
    return record


def _slices(lines: Iterable[Recipient | BadLine], on_bad: Callable[[BadLine], None]) -> Iterator[list[Recipient]]:
    part: list[Recipient] = []
    size = 0
    for line in lines:
        if isinstance(line, BadLine):
            on_bad(line)
            continue
        part.append(line)
        size += len(line.record)
        if len(part) >= SLICE or size >= SLICE_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
