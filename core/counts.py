"""Counters in SQL: every process adds its own, screens and alerts read the sum."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from core.tables import counts, from_us, to_us

MINUTE_US = 60_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """`n` altogether; the newest were written down in the minute that begins with `last`."""

    last: datetime
    n: int


def add(connection: Connection, increments: Mapping[tuple[str, str, str], int], now: datetime) -> None:
    """Add `increments`, by (series, provider, label), to the row of the current minute, in the caller's transaction."""
    if not increments:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    insert = dialect.insert(counts)
    minute = to_us(now) // MINUTE_US
    # Sorted, so that two processes which add to the same rows lock them in the same order.
    rows = [
        {"minute": minute, "name": name, "provider": provider, "label": label, "n": n}
        for (name, provider, label), n in sorted(increments.items())
    ]
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=["minute", "name", "provider", "label"], set_={"n": counts.c.n + insert.excluded.n}
        ),
        rows,
    )


def totals(connection: Connection, since: datetime | None = None) -> dict[tuple[str, str, str], int]:
    """Sums by (series, provider, label) over all minutes from that of `since` on."""
    query = select(counts.c.name, counts.c.provider, counts.c.label, func.sum(counts.c.n)).group_by(
        counts.c.name, counts.c.provider, counts.c.label
    )
    if since is not None:
        query = query.where(counts.c.minute >= to_us(since) // MINUTE_US)
    return {(name, provider, label): int(n) for name, provider, label, n in connection.execute(query)}


def seen(connection: Connection, names: Collection[str], since: datetime) -> dict[tuple[str, str, str], Seen]:
    """When each counter of the series `names` was last added to, from the minute of `since` on.

    Known to the minute in which a process wrote, which is some seconds after what it counted, or longer where SQL was
    away.
    """
    key = (counts.c.name, counts.c.provider, counts.c.label)
    query = select(*key, func.max(counts.c.minute), func.sum(counts.c.n)).group_by(*key)
    query = query.where(counts.c.minute >= to_us(since) // MINUTE_US, counts.c.name.in_(names))
    return {
        (name, provider, label): Seen(from_us(minute * MINUTE_US), int(n))
        for name, provider, label, minute, n in connection.execute(query)
    }
