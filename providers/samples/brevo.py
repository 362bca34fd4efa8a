"""Bodies as Brevo posts them, one for each kind, with made-up texts."""

import json
from datetime import datetime

from core.events import Kind

# kind -> (event, what it adds)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.ACCEPTED: ("request", {}),
    Kind.DELIVERED: ("delivered", {}),
    Kind.DEFERRED: ("deferred", {"reason": "451 4.7.1 greylisted"}),
    Kind.SOFT_BOUNCE: ("soft_bounce", {"reason": "452 4.2.2 mailbox full"}),
    Kind.HARD_BOUNCE: ("hard_bounce", {"reason": "550 5.1.1 no such user"}),
    Kind.COMPLAINT: ("spam", {}),
    Kind.UNSUBSCRIBED: ("unsubscribe", {}),
    Kind.REJECTED: ("blocked", {"reason": "blocked : on the block list"}),
    Kind.OTHER: ("unique_opened", {}),
}
WEBHOOK_ID = 1  # the same in every post


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The body of `kind` about `recipient`; `message_id` becomes the mail's id. Never raises ValueError."""
    name, extra = SAMPLES[kind]
    seconds = int(occurred_at.timestamp())
    event = {
        "event": name,
        "email": recipient,
        "id": WEBHOOK_ID,
        "message-id": f"<{message_id}@example.org>",
        "date": f"{occurred_at:%Y-%m-%d %H:%M:%S}",
        "ts": seconds,
        "ts_event": seconds,
        "ts_epoch": seconds * 1000,
        "subject": "Made-up news",
    }
    return json.dumps(event | extra).encode()
