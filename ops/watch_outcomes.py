"""What came of events: new journal rows, and counters of what leaves no row."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, func, select

from core import database
from core.decide import Outcome
from core.tables import counts, from_us, journal
from core.telemetry import Series
from ops.watch_line import line, masked

LOOK_BACK = 2000  # ids: a row may become visible after a later one (PostgreSQL gives ids before commits)
LIMIT = LOOK_BACK + 5000  # rows of one look; what is left comes with the next
_COLUMNS = (
    journal.c.id, journal.c.created_at, journal.c.provider, journal.c.kind, journal.c.rule, journal.c.outcome,
    journal.c.address, journal.c.event_id, journal.c.redis_key,
)  # fmt: skip
_WITHOUT_ROWS = (Outcome.IGNORED.value, Outcome.DUPLICATE.value)


class Outcomes:
    """Remembers what it has shown; `take` gives what is new."""

    def __init__(self, engine: Engine, show_addresses: bool) -> None:
        self._engine, self._show = engine, show_addresses
        with database.reading(engine) as connection:
            self._highest = connection.execute(select(func.max(journal.c.id))).scalar() or 0
            self._seen = {row.id for row in connection.execute(self._query())}
            self._counted = _counted(connection)

    def take(self) -> Iterator[str]:
        """A line for each journal row and each counter that is new since the last call."""
        with database.reading(self._engine) as connection:
            rows = [row for row in connection.execute(self._query()) if row.id not in self._seen]
            counted = _counted(connection)
        self._highest = max([self._highest, *(row.id for row in rows)])
        self._seen = {one for one in self._seen if one > self._highest - LOOK_BACK} | {row.id for row in rows}
        yield from (self._row(row) for row in rows)
        now = datetime.now(UTC)
        for (provider, outcome), n in counted.items():
            more = n - self._counted.get((provider, outcome), 0)
            if more > 0:
                yield line(now, provider, "-", "-", outcome, "-", f"{more} events")
        self._counted = counted

    def _query(self) -> Any:
        return select(*_COLUMNS).where(journal.c.id > self._highest - LOOK_BACK).order_by(journal.c.id).limit(LIMIT)

    def _row(self, row: Any) -> str:
        address = masked(row.address, self._show)
        return line(from_us(row.created_at), row.provider, row.kind, row.rule, row.outcome, address, row.event_id)


def _counted(connection: Connection) -> dict[tuple[str, str], int]:
    query = (
        select(counts.c.provider, counts.c.label, func.sum(counts.c.n))
        .where(counts.c.name == Series.OUTCOME.value, counts.c.label.in_(_WITHOUT_ROWS))
        .group_by(counts.c.provider, counts.c.label)
    )
    return {(provider, label): int(n) for provider, label, n in connection.execute(query)}
