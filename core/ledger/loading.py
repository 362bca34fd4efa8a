"""Load an audience into a draft: millions of rows, in transactions so short that no other process waits for seconds.

Idempotent: an entry whose recipient id or address the campaign has already is passed over, so a load that broke off,
or an upload that is repeated, ends with the same audience.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import Engine

from core.ledger import draft
from core.ledger.draft import Entry
from core.ledger.loading_postgresql import Gathering
from core.ledger.loading_sqlite import Staging


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
        known = draft.require(connection, campaign_id)
    taken = added = 0
    with _opened(engine, campaign_id, patient, known) as one:
        for entries in slices:
            added += one.take(entries)
            taken += len(entries)
        added += one.finish()
    return Loaded(added, taken - added)


def _opened(engine: Engine, campaign_id: str, patient: bool, known: int) -> AbstractContextManager[_Load]:
    if engine.dialect.name == "sqlite":
        return Staging(engine, campaign_id, patient)
    return Gathering(engine, campaign_id, patient, all_new=not known)
