"""Bodies as SendGrid posts them, one for each kind, with made-up texts: for tests and `mailward send-test-event`."""

import json
from datetime import datetime

from core.events import Kind

# kind -> what the event says beside whom it is about and when
SAMPLES: dict[Kind, dict[str, object]] = {
    Kind.ACCEPTED: {"event": "processed"},
    Kind.DELIVERED: {"event": "delivered", "response": "250 2.0.0 OK"},
    Kind.DEFERRED: {"event": "deferred", "response": "451 4.7.1 try again later", "attempt": "3"},
    Kind.SOFT_BOUNCE: {
        "event": "bounce",
        "type": "blocked",
        "bounce_classification": "Reputation",
        "status": "5.7.1",
        "reason": "550 5.7.1 refused because of the sender's reputation",
    },
    Kind.HARD_BOUNCE: {
        "event": "bounce",
        "type": "bounce",
        "bounce_classification": "Invalid Address",
        "status": "5.1.1",
        "reason": "550 5.1.1 no such user",
    },
    Kind.COMPLAINT: {"event": "spamreport"},
    Kind.UNSUBSCRIBED: {"event": "group_unsubscribe", "asm_group_id": 10},
    Kind.REJECTED: {"event": "dropped", "reason": "Bounced Address", "status": "5.0.0"},
    Kind.OTHER: {"event": "open", "useragent": "made up", "sg_machine_open": False},
}
END = "\r\n"  # SendGrid ends its bodies so, and signs it


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The batch of one event of `kind` about `recipient`; `message_id` is the mail's id and part of the event's."""
    mail: dict[str, object] = {
        "email": recipient,
        "timestamp": int(occurred_at.timestamp()),
        "smtp-id": f"<{message_id}@geopod-ismtpd-1>",
        "sg_event_id": f"{SAMPLES[kind]['event']}-{message_id}",
        "sg_message_id": f"{message_id}.recvd-made-up-1-0.0",
        "category": ["made-up"],
    }
    return (json.dumps([mail | SAMPLES[kind]], separators=(",", ":")) + END).encode()
