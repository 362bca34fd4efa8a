"""SQLite's side of a load: entries wait in a temporary table until there are enough to be written in sorted order.

Recipients come in any order. Inserted like that, each transaction would touch nearly every page of a large table and
write it to the disk twice; sorted, a transaction touches only its own stretch of the primary key.
"""

import json
from collections.abc import Callable, Sequence
from time import sleep
from types import TracebackType

from sqlalchemy import Connection, Engine, text

from core.ledger import draft
from core.ledger.draft import SLICE, Entry

CHUNK = 250_000  # entries that wait: 40 MB of a temporary file
PAUSE_S = 0.1  # between two transactions: SQLite is not fair, and those who wait for the lock look every 0.1 s

# A page cache that holds the index of the addresses, whose order no sorting helps (KiB, negative), and a log that
# takes several transactions before it is copied into the database (pages of 4 KiB).
_WIDE = ("PRAGMA cache_size = -81920", "PRAGMA wal_autocheckpoint = 40000")

_TABLE = "CREATE TEMP TABLE staged (recipient_id TEXT, address TEXT, verbatim TEXT, variables TEXT)"
_STAGE = "INSERT INTO temp.staged SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3 FROM json_each(?)"
_CUT = text("""SELECT max(recipient_id) FROM
(SELECT recipient_id FROM temp.staged WHERE recipient_id > :after ORDER BY recipient_id LIMIT :slice)""")
_INSERT = text("""
INSERT INTO delivery_ledger
  (campaign_id, recipient_id, address, status, verbatim, variables, created_at, updated_at)
SELECT :campaign, recipient_id, address, 'pending', nullif(verbatim, ''), nullif(variables, '{}'), :now, :now
FROM temp.staged WHERE recipient_id > :after AND recipient_id <= :last ORDER BY recipient_id
ON CONFLICT DO NOTHING
""")


class Staging:
    """A context in which a draft is loaded. It has a connection of its own: what is temporary ends with that."""

    def __init__(self, engine: Engine, campaign_id: str, patient: bool, sleep: Callable[[float], None] = sleep) -> None:
        self._engine, self._campaign_id, self._sleep = engine, campaign_id, sleep
        self._enough = CHUNK if patient else 1
        self._patient = patient
        self._staged = 0

    def __enter__(self) -> "Staging":
        self._connection: Connection = self._engine.connect()
        self._connection.detach()
        self._run(_TABLE, *(_WIDE if self._patient else ()))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._connection.close()

    def take(self, entries: Sequence[Entry]) -> int:
        """Stage `entries`; returns how many recipients were added to the draft by the way."""
        with self._connection.begin():
            self._connection.exec_driver_sql(_STAGE, (json.dumps(entries, ensure_ascii=False),))
        self._staged += len(entries)
        return self.finish() if self._staged >= self._enough else 0

    def finish(self) -> int:
        """Write what is staged; returns how many recipients were added."""
        self._run("CREATE INDEX temp.staged_by_id ON staged (recipient_id)")
        added, after = 0, ""
        while (last := self._cut(after)) is not None:
            with self._connection.begin():
                added += draft.add(self._connection, self._campaign_id, _INSERT, after=after, last=last)
            after = last
            self._sleep(PAUSE_S)
        self._run("DROP INDEX temp.staged_by_id", "DELETE FROM temp.staged")
        self._staged = 0
        return added

    def _cut(self, after: str) -> str | None:
        """The highest id of the next slice; None where nobody is left."""
        with self._connection.begin():
            last: str | None = self._connection.execute(_CUT, {"after": after, "slice": SLICE}).scalar()
            return last

    def _run(self, *statements: str) -> None:
        with self._connection.begin():
            for statement in statements:
                self._connection.exec_driver_sql(statement)
