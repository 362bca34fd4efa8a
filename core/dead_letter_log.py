"""The log of failed attempts and of what became of dead letters. Best effort: the dead-letter queue is the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update
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


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of a dead letter: `closed_as` is replayed, discarded, dismissed or resolved; `reason` says why.

    `replay` is how often the letter had been put back before.
    """

    queue: str
    message_id: str
    replay: int
    closed_as: str
    reason: str
    at: datetime


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
        "campaign_id": _text(failure.campaign_id, ERROR_LIMIT) or None,
        "recipient": _text(failure.recipient, ERROR_LIMIT) or None,
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
            found[row.message_id] = _failure(row)
    return found


def history(connection: Connection, queue: str, message_id: str) -> list[tuple[Failure, str]]:
    """Every row of a message, oldest first, each with how it was closed and why; empty while it is open."""
    table = dead_letter_log
    query = select(table).where(table.c.queue == queue, table.c.message_id == message_id).order_by(table.c.id)
    return [
        (_failure(row), f"{row.closed_as}: {row.closed_reason}" if row.closed_as else "")
        for row in connection.execute(query)
    ]


def close(connection: Connection, closing: Closing) -> None:
    """Close the open rows of a message, of its present replay and earlier ones.

    Rows of a later replay stay open: the copy that was put back may have failed already.
    """
    table = dead_letter_log
    connection.execute(
        update(table)
        .where(
            table.c.queue == closing.queue,
            table.c.message_id == closing.message_id,
            table.c.replay <= closing.replay,
            table.c.closed_at.is_(None),
        )
        .values(_closed(closing))
    )


def keep(connection: Connection, closing: Closing, body: bytes) -> None:
    """Keep the bytes of a letter that is about to be settled, in a closed row of attempt 0.

    Letters of one id may differ in their bytes: each further one takes the next number below.
    """
    table = dead_letter_log
    of_letter = (
        (table.c.queue == closing.queue)
        & (table.c.message_id == closing.message_id)
        & (table.c.replay == closing.replay)
    )
    kept = connection.execute(select(table.c.attempt, table.c.body).where(of_letter, table.c.attempt <= 0)).all()
    lowest = min((row.attempt for row in kept), default=1)
    attempt = next((row.attempt for row in kept if row.body == body), lowest - 1)
    record(connection, Failure(closing.queue, closing.message_id, closing.replay, attempt, closing.at, "", "", ""))
    connection.execute(
        update(table).where(of_letter, table.c.attempt == attempt).values(_closed(closing) | {"body": body})
    )


def _closed(closing: Closing) -> dict[str, Any]:
    return {
        "closed_at": to_us(closing.at),
        "closed_as": closing.closed_as,
        "closed_reason": _text(closing.reason, ERROR_LIMIT),
    }


def _failure(row: Row[Any]) -> Failure:
    return Failure(
        row.queue, row.message_id, row.replay, row.attempt, from_us(row.failed_at),
        row.error_type, row.error, row.stack, row.campaign_id or "", row.recipient or "",
    )  # fmt: skip


def _text(text: str, limit: int) -> str:
    return text[:limit].replace("\x00", "").encode("utf-8", "replace").decode()
