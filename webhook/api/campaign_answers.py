"""What the campaign API answers."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row

from core.ledger.campaigns import InFlight
from core.ledger.lifecycle import CHOICES
from core.tables import from_us
from sender.clients.base import Answer
from sender.render import RenderError
from sender.uploading import Uploaded


def campaign(row: Row[Any]) -> dict[str, object]:
    """A campaign, without its counts."""
    return {
        "id": row.id,
        "name": row.name,
        "state": row.state,
        "pause_reason": row.pause_reason,
        "audience": row.audience,
        "filter": row.audience_filter,
        "cloned_from": row.cloned_from or None,
        "total": row.total,
        "created_at": _moment(row.created_at),
        "started_at": _moment(row.started_at),
        "finished_at": _moment(row.finished_at),
    }


def delivery(row: Row[Any]) -> dict[str, object]:
    """A delivery: to whom, how far it came, and why not further."""
    return {
        "recipient_id": row.recipient_id,
        "address": row.address,
        "status": row.status,
        "reason": row.reason,
        "outcome": row.outcome,
        "call": row.call_id,
        "provider_message_id": row.provider_message_id,
        "updated_at": _moment(row.updated_at),
    }


def in_flight(calls: Sequence[InFlight]) -> list[dict[str, object]]:
    """The calls that may still reach the provider."""
    return [{"call": one.call_id, "idempotency_key": one.idempotency_key, "size": one.size} for one in calls]


def undecided(rows: Sequence[Row[Any]]) -> list[dict[str, object]]:
    """Calls that an operator may settle, with the choices there are."""
    return [
        {
            "call": row.id,
            "state": row.state,
            "size": row.size,
            "idempotency_key": row.idempotency_key,
            "first_attempt_at": _moment(row.first_attempt_at),
            "error": row.error,
            "choices": list(CHOICES),
        }
        for row in rows
    ]


def uploaded(one: Uploaded) -> dict[str, object]:
    """What an upload came to."""
    bad = [{"line": line.line, "reason": line.reason} for line in one.bad_lines]
    return {"added": one.loaded.added, "repeated": one.loaded.repeated, "bad": one.bad, "bad_lines": bad}


def rendering(errors: Sequence[RenderError]) -> list[dict[str, str]]:
    """What is wrong with whose mail."""
    return [
        {"recipient_id": one.recipient_id, "part": one.part, "field": one.variable, "reason": one.reason}
        for one in errors
    ]


def answered(key: str, answer: Answer) -> dict[str, object]:
    """What the provider said to a test mail."""
    return {
        "idempotency_key": key,
        "result": answer.happening.value,
        "provider_message_id": answer.ids[0] if answer.ids else None,
        "status": answer.status or None,
        "error": answer.error,
    }


def _moment(us: int | None) -> str | None:
    return None if us is None else from_us(us).isoformat()
