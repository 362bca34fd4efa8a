"""PostgreSQL's side of a load: entries wait in memory for a transaction that is worth its while."""

import json
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

import psycopg
from sqlalchemy import Connection, Engine, text

from core.ledger import draft
from core.ledger.draft import SLICE, Entry
from core.statements import psycopg_of

_COLUMNS = "campaign_id, recipient_id, address, status, verbatim, variables, created_at, updated_at"
_COPY = f"COPY delivery_ledger ({_COLUMNS}) FROM STDIN"
_INSERT = text(f"""INSERT INTO delivery_ledger ({_COLUMNS})
SELECT :campaign, e ->> 0, e ->> 1, 'pending', nullif(e ->> 2, ''), nullif(e ->> 3, '{{}}'), :now, :now
FROM json_array_elements(CAST(:entries AS json)) AS e
ON CONFLICT DO NOTHING""")  # noqa: S608 - our own columns


class Gathering:
    """A context in which a draft is loaded. While the server writes one transaction, the entries of the next are being
    read: each side waits for the slower one only."""

    def __init__(self, engine: Engine, campaign_id: str, patient: bool, *, all_new: bool) -> None:
        self._engine, self._campaign_id, self._patient = engine, campaign_id, patient
        self._entries: list[Entry] = []
        self._all_are_new = all_new  # or PostgreSQL would write somebody's address into its own log, as of any conflict
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future[int] | None = None

    def __enter__(self) -> "Gathering":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.shutdown()

    def take(self, entries: Sequence[Entry]) -> int:
        """Returns how many recipients the transaction before has added, once there is enough for the next."""
        self._entries += entries
        if not self._patient:
            return self.finish()
        return self._hand_over() if len(self._entries) >= SLICE else 0

    def finish(self) -> int:
        """Write what is left, and wait for it."""
        return self._hand_over() + self._written()

    def _hand_over(self) -> int:
        added = self._written()
        self._writing = self._writer.submit(self._write, self._entries)
        self._entries = []
        return added

    def _written(self) -> int:
        writing, self._writing = self._writing, None
        return writing.result() if writing else 0

    def _write(self, entries: list[Entry]) -> int:
        """Copy the entries, which takes half the time; insert them one by one from the first on whom the campaign has
        already: others will follow."""
        entries = list(_distinct(entries))
        # The members of a call are neighbours by their id. In one page of the table they would leave each other no room
        # for the new version of a row, and each update would have to touch both indexes.
        random.shuffle(entries)
        if self._all_are_new:
            try:
                with self._engine.begin() as connection:
                    return draft.add_by(connection, self._campaign_id, lambda now: self._copy(connection, entries, now))
            except _Known:
                self._all_are_new = False
        with self._engine.begin() as connection:
            return draft.add(connection, self._campaign_id, _INSERT, entries=json.dumps(entries))

    def _copy(self, connection: Connection, entries: Sequence[Entry], now: int) -> int:
        with psycopg_of(connection) as driver:
            try:
                with driver.cursor() as cursor, cursor.copy(_COPY) as copy:
                    for one in entries:
                        copy.write_row(_row(self._campaign_id, one, now))
            except psycopg.errors.UniqueViolation:
                raise _Known from None
        return len(entries)


class _Known(Exception):
    """The campaign has one of the entries already."""


def _row(campaign_id: str, entry: Entry, now: int) -> tuple[object, ...]:
    recipient_id, address, verbatim, variables = entry
    fields = None if variables == "{}" else variables
    return campaign_id, recipient_id, address, "pending", verbatim or None, fields, now, now


def _distinct(entries: Iterable[Entry]) -> Iterable[Entry]:
    """The entries without those whose id or address an earlier one has."""
    ids: set[str] = set()
    addresses: set[str] = set()
    for entry in entries:
        if entry[0] not in ids and entry[1] not in addresses:
            ids.add(entry[0])
            addresses.add(entry[1])
            yield entry
