"""Bodies as Unisender Go posts them, one for each kind there is, with made-up texts and a place for the proof."""

import json
from datetime import UTC, datetime

from core.events import Kind

PLACE = "0" * 32  # where the proof goes

# kind -> what the event says beside whom it is about and when
SAMPLES: dict[Kind, dict[str, object]] = {
    Kind.ACCEPTED: {"status": "sent"},
    Kind.DELIVERED: {"status": "delivered"},
    Kind.SOFT_BOUNCE: {
        "status": "soft_bounced",
        "delivery_info": {"delivery_status": "err_mailbox_full", "destination_response": "452 4.2.2 mailbox full"},
    },
    Kind.HARD_BOUNCE: {
        "status": "hard_bounced",
        "delivery_info": {"delivery_status": "err_user_unknown", "destination_response": "550 5.1.1 no such user"},
    },
    Kind.COMPLAINT: {"status": "spam"},
    Kind.UNSUBSCRIBED: {"status": "unsubscribed", "comment": "made up"},
    Kind.OTHER: {"status": "clicked", "url": "https://example.org/made-up"},
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The batch of one event of `kind` about `recipient`, still without proof; `message_id` becomes the job's id.

    Raises ValueError for a kind that Unisender Go does not tell.
    """
    if kind not in SAMPLES:
        raise ValueError(f"Unisender Go has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    mail = {
        "job_id": message_id,
        "email": recipient,
        "metadata": {},
        "event_time": f"{occurred_at.astimezone(UTC):%Y-%m-%d %H:%M:%S}",
    }
    event = {"event_name": "transactional_email_status", "event_data": mail | SAMPLES[kind]}
    user = {"user_id": 456, "project_id": "made-up", "project_name": "Made up", "events": [event]}
    return json.dumps({"auth": PLACE, "events_by_user": [user]}, separators=(",", ":")).encode()
