"""Load an audience into a draft: millions of rows, in transactions so short that no other process waits for seconds.

Idempotent: an entry whose recipient id or address the campaign has already is passed over, so a load that broke off,
or an upload that is repeated, ends with the same audience.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
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
    return nullcontext(_Gathering(engine, campaign_id, SLICE if patient else 1))


class _Gathering:
    """On PostgreSQL: entries wait in memory for a transaction that is worth its while."""

    def __init__(self, engine: Engine, campaign_id: str, enough: int) -> None:
        self._engine, self._campaign_id, self._enough = engine, campaign_id, enough
        self._entries: list[Entry] = []

    def take(self, entries: Sequence[Entry]) -> int:
        self._entries += entries
        return self.finish() if len(self._entries) >= self._enough else 0

    def finish(self) -> int:
        encoded = json.dumps(self._entries)
        self._entries = []
        with self._engine.begin() as connection:
            return draft.add(connection, self._campaign_id, _INSERT, entries=encoded)
