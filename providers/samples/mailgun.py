"""Bodies as Mailgun posts them, one for each kind, with made-up texts, still without their signature."""

import json
from datetime import datetime

from core.events import Kind

Fields = dict[str, object]

# kind -> what the event adds to the data of the mail
SAMPLES: dict[Kind, Fields] = {
    Kind.ACCEPTED: {"event": "accepted", "delivery-status": None},
    Kind.DELIVERED: {"event": "delivered", "delivery-status": {"code": 250, "message": "OK", "attempt-no": 1}},
    Kind.DEFERRED: {
        "event": "failed",
        "severity": "temporary",
        "reason": "generic",
        "delivery-status": {"code": 452, "enhanced-code": "4.2.2", "message": "try again", "retry-seconds": 600},
    },
    Kind.SOFT_BOUNCE: {
        "event": "failed",
        "severity": "permanent",
        "reason": "old",
        "delivery-status": {"code": 602, "message": "Too old", "description": "Not delivered for 8 hours"},
    },
    Kind.HARD_BOUNCE: {
        "event": "failed",
        "severity": "permanent",
        "reason": "bounce",
        "delivery-status": {
            "code": 550,
            "enhanced-code": "5.1.1",
            "bounce-type": "hard",
            "message": "5.1.1 no such user",
            "description": "",
            "attempt-no": 1,
        },
    },
    Kind.COMPLAINT: {"event": "complained"},
    Kind.UNSUBSCRIBED: {"event": "unsubscribed"},
    Kind.REJECTED: {
        "event": "failed",
        "severity": "permanent",
        "reason": "suppress-bounce",
        "delivery-status": {"code": 605, "message": "", "description": "Not delivering to previously bounced address"},
    },
    Kind.OTHER: {"event": "opened", "client-info": {"client-name": "made up"}},
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The body of `kind` about `recipient`; `message_id` becomes the event's id, and the mail's with a domain."""
    headers = {"to": recipient, "message-id": f"{message_id}@example.org", "from": "news@example.org"}
    mail: Fields = {
        "id": message_id,
        "timestamp": occurred_at.timestamp(),
        "recipient": recipient,
        "message": {"headers": headers, "size": 1024},
        "user-variables": {},
        "tags": [],
        "flags": {"is-test-mode": False},
    }
    return json.dumps({"event-data": mail | SAMPLES[kind]}).encode()
