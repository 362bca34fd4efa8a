"""What the journal says about one address: why a person is gone, and whether that still blocks sends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from core.decide import Outcome, eligible_since
from core.tables import from_us, journal


@dataclass(frozen=True, slots=True)
class Judgement:
    """One journal row: what one event meant for one Redis key of an address. `record` are the bytes it deleted."""

    id: int
    event_id: str
    key: str
    provider: str
    kind: str
    rule: str
    detail: str
    occurred_at: datetime
    outcome: Outcome
    record: bytes | None
    created_at: datetime
    applied_at: datetime | None
    restored_at: datetime | None


def of(connection: Connection, address: str) -> list[Judgement]:
    """Everything the journal has about `address` (normal form), newest first."""
    rows = connection.execute(select(journal).where(journal.c.address == address).order_by(journal.c.id.desc()))
    return [
        Judgement(
            row.id, row.event_id, row.redis_key, row.provider, row.kind, row.rule, row.detail,
            from_us(row.occurred_at), Outcome(row.outcome), row.record, from_us(row.created_at),
            _moment(row.applied_at), _moment(row.restored_at),
        )
        for row in rows
    ]  # fmt: skip


def blocks(judgements: Iterable[Judgement], records: Iterable[bytes | None], now: datetime) -> list[Judgement]:
    """Those of `judgements` that keep mail from their address, whose present records are `records`.

    Removals block, and so do events that found no record, applied or not; unless restored, or older than the consent
    of a record. Stale events never block.
    """
    consents = [since for record in records if record is not None and (since := eligible_since(record, now))]
    consent = max(consents, default=None)
    return [
        one
        for one in judgements
        if one.outcome in (Outcome.REMOVED, Outcome.ABSENT)
        and one.restored_at is None
        and not (consent is not None and one.occurred_at < consent)
    ]


def removals_to_undo(judgements: Sequence[Judgement]) -> list[Judgement]:
    """The newest removal of each Redis key that no restore has undone; `judgements` come newest first.

    Where there is none left: those of the latest restore, so that one that was interrupted can be repeated.
    """
    newest: dict[str, Judgement] = {}
    for one in judgements:
        if one.outcome is Outcome.REMOVED:
            newest.setdefault(one.key, one)
    still_open = [one for one in newest.values() if one.restored_at is None]
    if still_open:
        return still_open
    last = max((one.restored_at for one in newest.values() if one.restored_at), default=None)
    return [one for one in newest.values() if one.restored_at == last]


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_us(value)
