"""The log of failed attempts and of what became of dead letters. Best effort: the dead-letter queue is the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from core.tables import dead_letter_log, from_us, to_us

ERROR_LIMIT, STACK_LIMIT = 1000, 8000  # characters: enough to see the cause, bounded whatever a library prints


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt of one message; `queue` is the work queue's name without lane."""

    queue: str
    message_id: str
    replay: int
    attempt: int
    failed_at: datetime
    error_type: str
    error: str
    stack: str
    campaign_id: str = ""
    recipient: str = ""


def record(connection: Connection, failure: Failure) -> None:
    """Write `failure`; a second one of the same attempt (a redelivery) is dropped."""
    row = {
        "queue": failure.queue,
        "message_id": failure.message_id,
        "replay": failure.replay,
        "attempt": failure.attempt,
        "failed_at": to_us(failure.failed_at),
        "error_type": failure.error_type,
        "error": _text(failure.error, ERROR_LIMIT),
        "stack": _text(failure.stack, STACK_LIMIT),
        "campaign_id": failure.campaign_id or None,
        "recipient": failure.recipient or None,
    }
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    key = ["queue", "message_id", "replay", "attempt"]
    connection.execute(dialect.insert(dead_letter_log).on_conflict_do_nothing(index_elements=key), row)


def latest(connection: Connection, queue: str, message_ids: Sequence[str]) -> dict[str, Failure]:
    """The newest open failure of each of `message_ids` on `queue`."""
    table = dead_letter_log
    found: dict[str, Failure] = {}
    for start in range(0, len(message_ids), 500):
        some = table.c.message_id.in_(message_ids[start : start + 500])
        query = select(table).where(table.c.queue == queue, some, table.c.closed_at.is_(None)).order_by(table.c.id)
        for row in connection.execute(query):
            found[row.message_id] = Failure(
                row.queue, row.message_id, row.replay, row.attempt, from_us(row.failed_at),
                row.error_type, row.error, row.stack, row.campaign_id or "", row.recipient or "",
            )  # fmt: skip
    return found


def close(connection: Connection, queue: str, message_id: str, closed_as: str, reason: str, now: datetime) -> None:
    """Close every open row of a message: `closed_as` is replayed, discarded, dismissed or resolved."""
    table = dead_letter_log
    connection.execute(
        update(table)
        .where(table.c.queue == queue, table.c.message_id == message_id, table.c.closed_at.is_(None))
        .values(closed_at=to_us(now), closed_as=closed_as, closed_reason=reason)
    )


def keep(connection: Connection, failure: Failure, body: bytes, closed_as: str, reason: str, now: datetime) -> None:
    """Keep the bytes of a letter that is about to be thrown away, and the operator's `reason`."""
    record(connection, failure)
    table = dead_letter_log
    connection.execute(
        update(table)
        .where(
            table.c.queue == failure.queue,
            table.c.message_id == failure.message_id,
            table.c.replay == failure.replay,
            table.c.attempt == failure.attempt,
        )
        .values(body=body, closed_at=to_us(now), closed_as=closed_as, closed_reason=reason)
    )


def _text(text: str, limit: int) -> str:
    return text[:limit].replace("\x00", "").encode("utf-8", "replace").decode()
