"""The journal of removals: what was intended, what was applied, and the bytes that can be put back.

A row is written before anything is deleted and marked applied afterwards, so that a crash between the two leaves an
intent that the redelivered event finds and completes.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, update

from core.decide import Outcome
from core.events import Event
from core.tables import from_us, journal, to_us

_COLUMNS = (
    "event_id", "redis_key", "address", "provider", "kind", "rule", "detail", "occurred_at", "received_at", "outcome",
    "record", "created_at",
)  # fmt: skip
# The two statements of every batch are plain SQL with tuples: SQLAlchemy's own handling of the parameters of a row
# costs more than writing the row. For SQLite, row by row.
_INSERT = (
    f"INSERT INTO journal ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"  # noqa: S608 - constants
    " ON CONFLICT (event_id, redis_key) DO NOTHING"
)
_MARK_RANGE = "UPDATE journal SET applied_at = ? WHERE id BETWEEN ? AND ?"
_MARK = "UPDATE journal SET applied_at = ? WHERE event_id = ? AND redis_key = ?"
# PostgreSQL takes all rows as one array a column: one statement and one trip, however many rows there are.
_ARRAYS = (
    "%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],"
    " %s::text[], %s::bytea[], %s::bigint[]"
)
_FROM_ARRAYS = {
    _INSERT: (
        f"INSERT INTO journal ({', '.join(_COLUMNS)}) SELECT * FROM unnest({_ARRAYS})"  # noqa: S608 - constants
        " ON CONFLICT (event_id, redis_key) DO NOTHING"
    ),
    _MARK: (
        "UPDATE journal SET applied_at = row.now"
        " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS row (now, event, key)"
        " WHERE event_id = row.event AND redis_key = row.key"
    ),
}
_THIS_ROW = (journal.c.event_id == bindparam("of_event")) & (journal.c.redis_key == bindparam("of_key"))
_REJUDGE = update(journal).where(_THIS_ROW).values(outcome=bindparam("judged"), record=bindparam("bytes"))
_LATEST_RESTORE = select(func.max(journal.c.restored_at)).where(journal.c.restored_at.is_not(None))


class Entry(NamedTuple):
    """One key judged for one event: `outcome` is removed, absent or stale; `record` the bytes to be deleted."""

    event: Event
    key: str
    outcome: Outcome
    record: bytes | None

    @property
    def id(self) -> tuple[str, str]:
        return self.event.event_id, self.key


class Intents(NamedTuple):
    """Entries whose rows are written and not yet applied; `ids` are those of the rows where they are known to follow
    each other, so that all can be marked at once."""

    entries: Sequence[Entry]
    ids: range | None = None

    def without(self, ids: Collection[tuple[str, str]]) -> "Intents":
        """The intents but those of the entries `ids`."""
        return Intents([one for one in self.entries if one.id not in ids]) if ids else self


def restores(connection: Connection, events: Iterable[Event]) -> dict[str, datetime]:
    """The latest restore of each address among `events`, for those that may be older than it."""
    latest = connection.execute(_LATEST_RESTORE).scalar()
    if latest is None:
        return {}
    addresses = {event.recipient for event in events if to_us(event.occurred_at) <= latest}
    if not addresses:
        return {}
    rows = connection.execute(
        select(journal.c.address, func.max(journal.c.restored_at))
        .where(journal.c.restored_at.is_not(None), journal.c.address.in_(addresses))
        .group_by(journal.c.address)
    )
    return {address: from_us(moment) for address, moment in rows}


def intend(connection: Connection, entries: Sequence[Entry], now: datetime) -> Intents:
    """Write `entries` as intents; returns those still to be applied, without the repeats of applied ones.

    An intent left by a crash takes the new judgement, except that a removal whose key is gone by now stays a removal
    with its bytes: it was us who deleted it.
    """
    created_at = to_us(now)
    rows = [_row(entry, created_at) for entry in entries]
    if not rows or _execute_many(connection, _INSERT, rows) == len(rows):
        return Intents(entries, _ids(connection, len(rows)))
    found = _existing(connection, entries)
    unapplied = [entry for entry in entries if found[entry.id].applied_at is None]
    # Restored while only an intent: the operator had the last word, and judged anew the row would lose its bytes.
    mark_applied(connection, Intents([one for one in unapplied if found[one.id].restored_at is not None]), now)
    pending = [_reconciled(entry, found[entry.id]) for entry in unapplied if found[entry.id].restored_at is None]
    changed = [
        entry for entry in pending if entry.outcome != found[entry.id].outcome or entry.record != found[entry.id].record
    ]
    if changed:
        connection.execute(_REJUDGE, [_of(one) | {"judged": one.outcome.value, "bytes": one.record} for one in changed])
    return Intents(pending)


def mark_applied(connection: Connection, intents: Intents, now: datetime) -> None:
    """Mark `intents` as applied."""
    applied_at = to_us(now)
    if intents.ids:
        connection.exec_driver_sql(_MARK_RANGE, (applied_at, intents.ids[0], intents.ids[-1]))
    elif intents.entries:
        ordered = sorted(entry.id for entry in intents.entries)  # two consumers take their locks in the same order
        _execute_many(connection, _MARK, [(applied_at, *one) for one in ordered])


def _execute_many(connection: Connection, statement: str, rows: list[tuple[Any, ...]]) -> int:
    """Execute `statement` for each of `rows`; returns how many rows of the table were written in all."""
    if connection.dialect.name == "postgresql":
        columns = tuple(list(column) for column in zip(*rows, strict=True))
        return connection.exec_driver_sql(_FROM_ARRAYS[statement], columns).rowcount
    return connection.exec_driver_sql(statement, rows).rowcount


def _ids(connection: Connection, n: int) -> range | None:
    """The ids of the `n` rows written last, where no other writer can have come between them."""
    if connection.dialect.name != "sqlite" or not n:
        return None
    last: int = connection.exec_driver_sql("SELECT last_insert_rowid()").scalar_one()
    return range(last - n + 1, last + 1)


def _existing(connection: Connection, entries: Sequence[Entry]) -> dict[tuple[str, str], Any]:
    row = journal.c
    columns = (row.event_id, row.redis_key, row.outcome, row.record, row.applied_at, row.restored_at)
    ids = {entry.event.event_id for entry in entries}
    return {
        (row.event_id, row.redis_key): row
        for row in connection.execute(select(*columns).where(journal.c.event_id.in_(ids)))
    }


def _reconciled(entry: Entry, row: Any) -> Entry:
    if entry.outcome is Outcome.ABSENT and row.outcome == Outcome.REMOVED:
        return Entry(entry.event, entry.key, Outcome.REMOVED, row.record)
    return entry


def _of(entry: Entry) -> dict[str, Any]:
    return {"of_event": entry.event.event_id, "of_key": entry.key}


def _row(entry: Entry, created_at: int) -> tuple[Any, ...]:
    event = entry.event
    return (
        event.event_id,
        entry.key,
        event.recipient,
        event.provider,
        event.kind.value,
        event.rule,
        event.detail,
        to_us(event.occurred_at),
        to_us(event.received_at),
        entry.outcome.value,
        entry.record,
        created_at,
    )
