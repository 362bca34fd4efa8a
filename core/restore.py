"""Put a removed record back, and let an address in again: the writes that undo what an event did."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, bindparam, or_, select, update

from core import database, history
from core.decide import Outcome
from core.history import Judgement
from core.recipients import RecipientStore
from core.tables import journal, to_us

LOOKS = 25  # how often, LOOK_S apart, to look for events in flight: five seconds, longer than a batch takes
LOOK_S = 0.2
_UNMARKED = journal.c.restored_at.is_(None)
_READMIT = (
    update(journal)
    .where(journal.c.address == bindparam("of"), journal.c.occurred_at <= bindparam("moment"))
    .where(or_(_UNMARKED, journal.c.restored_at < bindparam("moment")))
    .values(restored_at=bindparam("moment"))
)


class NeverJournalled(LookupError):
    """The journal has nothing about this address, so there is nothing to undo."""


class NewerRecord(Exception):
    """The address has a record with other bytes than those that were removed; `keys` says where."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(f"there is a newer record under {', '.join(keys)}")
        self.keys = tuple(keys)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: the removals whose records are back, and how many journal rows no longer block."""

    removals: tuple[Judgement, ...]
    rows: int


def restore(
    store: RecipientStore,
    engine: Engine,
    address: str,
    *,
    force: bool,
    clock: Callable[[], datetime],
    sleep: Callable[[float], None] = time.sleep,
) -> Restored:
    """Put back the records of `address` (normal form) byte for byte, and lift its blocks; harmless to repeat.

    First the journal is marked and committed, then Redis is written: an event that reads the journal later is stale.
    One that had read it before may still delete what is put back, so this looks again until none is in flight.

    Raises NeverJournalled, and NewerRecord where a record has other bytes (with `force` it is replaced). An address
    whose events found no record has its blocks lifted and nothing put back.
    """
    with database.reading(engine) as connection:
        judgements = history.of(connection, address)
    if not judgements:
        raise NeverJournalled(address)
    removals = history.removals_to_undo(judgements)
    if not force:
        _refuse_newer(store, removals)
    now = clock()
    rows = _mark(engine, address, now, _latest(removals))
    for look in range(LOOKS):
        late = _mark_late(engine, address, now)
        _put_back(store, removals, force=force and not look)
        if look and not late:
            break
        sleep(LOOK_S)
    return Restored(tuple(removals), rows)


def readmit(engine: Engine, consents: Sequence[tuple[str, datetime]]) -> None:
    """For each (address, moment of consent): mark its events up to that moment as restored.

    For records that cannot carry `eligible_since` themselves; events not newer than the moment are stale from now on.
    """
    # No event names an address with a zero byte in it, and PostgreSQL would not even look for one.
    rows = [{"of": address, "moment": to_us(moment)} for address, moment in consents if "\0" not in address]
    if rows:
        with engine.begin() as connection:
            connection.execute(_READMIT, rows)


def _latest(removals: Sequence[Judgement]) -> datetime | None:
    """When these removals were restored before: `history.removals_to_undo` gives such ones if nothing else is left."""
    return max((one.restored_at for one in removals if one.restored_at), default=None)


def _mark(engine: Engine, address: str, now: datetime, last: datetime | None) -> int:
    """Mark what no restore has marked, and again what the restore of `last` did, which this one completes."""
    which = _UNMARKED if last is None else or_(_UNMARKED, journal.c.restored_at == to_us(last))
    query = update(journal).where(journal.c.address == address, which).values(restored_at=to_us(now))
    with engine.begin() as connection:
        return connection.execute(query).rowcount


def _mark_late(engine: Engine, address: str, now: datetime) -> bool:
    """Mark rows of events not newer than the restore that came after its mark; whether one is, or was, in flight."""
    removing = (journal.c.address == address) & (journal.c.occurred_at <= to_us(now))
    unapplied = journal.c.applied_at.is_(None) & (journal.c.outcome == Outcome.REMOVED.value)
    with engine.begin() as connection:
        query = select(journal.c.id).where(removing, or_(_UNMARKED, unapplied)).limit(1)
        late = connection.execute(query).first() is not None
        if late:
            connection.execute(update(journal).where(removing, _UNMARKED).values(restored_at=to_us(now)))
    return late


def _put_back(store: RecipientStore, removals: Sequence[Judgement], *, force: bool) -> None:
    for one in removals:
        if one.record is not None:
            store.put(store.address(one.key), one.record, only_if_absent=not force)
    if not force:
        _refuse_newer(store, removals)


def _refuse_newer(store: RecipientStore, removals: Sequence[Judgement]) -> None:
    found = store.read([one.key for one in removals])
    newer = [one.key for one, now in zip(removals, found, strict=True) if now is not None and now != one.record]
    if newer:
        raise NewerRecord(newer)
