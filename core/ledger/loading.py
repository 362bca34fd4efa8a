"""Load an audience into a draft: millions of rows, in transactions so short that no other process waits for seconds.

Idempotent: an entry whose recipient id or address the campaign has already is passed over, so a load that broke off,
or an upload that is repeated, ends with the same audience.
"""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from sqlalchemy import Engine, text

from core.ledger import draft
from core.ledger.draft import SLICE
from core.ledger.loading_sqlite import Staging

# Recipient id, address in normal form, the address as written (empty where that is the same), merge fields (JSON text).
Entry = tuple[str, str, str, str]

# In the order of the primary key: neighbours share pages.
_INSERT = text("""
INSERT INTO delivery_ledger
  (campaign_id, recipient_id, address, status, verbatim, variables, created_at, updated_at)
SELECT :campaign, e ->> 0, e ->> 1, 'pending', nullif(e ->> 2, ''), nullif(e ->> 3, '{}'), :now, :now
FROM json_array_elements(CAST(:entries AS json)) AS e ORDER BY (e ->> 0) COLLATE "C"
ON CONFLICT DO NOTHING
""")


@dataclass(frozen=True, slots=True)
class Loaded:
    """How many recipients a load has added, and how many entries were passed over: known by their id or address."""

    added: int
    repeated: int


class _Load(Protocol):
    """Takes entries and writes them when it has enough; each returns how many recipients were added."""

    def take(self, entries: Sequence[Entry]) -> int: ...
    def finish(self) -> int: ...


def load(engine: Engine, campaign_id: str, slices: Iterable[Sequence[Entry]], *, patient: bool = True) -> Loaded:
    """Add the entries of `slices` to a draft.

    `patient` gathers many before it writes, which is fast. Without it every slice is written as it comes, in little
    time and memory: for a process that must answer others in between. Raises Refused if the campaign is no draft, also
    in the middle; what was written by then stays.
    """
    with engine.begin() as connection:
        draft.require(connection, campaign_id)
    taken = added = 0
    with _opened(engine, campaign_id, patient) as one:
        for entries in slices:
            added += one.take(entries)
            taken += len(entries)
        added += one.finish()
    return Loaded(added, taken - added)


def _opened(engine: Engine, campaign_id: str, patient: bool) -> AbstractContextManager[_Load]:
    if engine.dialect.name == "sqlite":
        return Staging(engine, campaign_id, patient)
    return _Gathering(engine, campaign_id, patient)


class _Gathering:
    """On PostgreSQL: entries wait in memory for a transaction that is worth its while. While the server writes one, the
    next are being read: each side waits for the slower one only."""

    def __init__(self, engine: Engine, campaign_id: str, patient: bool) -> None:
        self._engine, self._campaign_id, self._patient = engine, campaign_id, patient
        self._entries: list[Entry] = []
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[int] | None = None

    def __enter__(self) -> "_Gathering":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.shutdown()

    def take(self, entries: Sequence[Entry]) -> int:
        """Returns what the transaction before has added, once there is enough for the next."""
        self._entries += entries
        if not self._patient:
            return self.finish()
        return self._hand_over() if len(self._entries) >= SLICE else 0

    def finish(self) -> int:
        """Write what is left, and wait for it."""
        return self._hand_over() + self._written()

    def _hand_over(self) -> int:
        added = self._written()
        self._writing = self._writer.submit(self._write, json.dumps(self._entries))
        self._entries = []
        return added

    def _written(self) -> int:
        writing, self._writing = self._writing, None
        return writing.result() if writing else 0

    def _write(self, encoded: str) -> int:
        with self._engine.begin() as connection:
            return draft.add(connection, self._campaign_id, _INSERT, entries=encoded)
