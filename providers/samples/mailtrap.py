"""Bodies as Mailtrap posts them, one for each kind there is, with made-up texts."""

import json
from datetime import datetime

from core.events import Kind

# kind -> what the event says beside whom it is about and when
SAMPLES: dict[Kind, dict[str, object]] = {
    Kind.DELIVERED: {"event": "delivery"},
    Kind.DEFERRED: {"event": "soft bounce", "response": "(451 4.7.1 try again later)", "response_code": 451},
    Kind.SOFT_BOUNCE: {
        "event": "bounce",
        "response": "bounced (552 5.2.2 mailbox full)",
        "response_code": 552,
        "bounce_category": "overquota",
    },
    Kind.HARD_BOUNCE: {
        "event": "bounce",
        "response": "bounced (550 5.1.1 no such user)",
        "response_code": 550,
        "bounce_category": "badrecipient",
    },
    Kind.COMPLAINT: {"event": "spam"},
    Kind.UNSUBSCRIBED: {"event": "unsubscribe", "ip": "192.0.2.1", "user_agent": "made up"},
    Kind.REJECTED: {"event": "reject", "reason": "suppressed"},
    Kind.OTHER: {"event": "open", "ip": "192.0.2.1", "user_agent": "made up"},
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The batch of one event of `kind` about `recipient`; `message_id` is the mail's id and part of the event's.

    Raises ValueError for a kind that Mailtrap does not tell.
    """
    if kind not in SAMPLES:
        raise ValueError(f"Mailtrap has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    mail = {
        "event_id": f"{SAMPLES[kind]['event']}-{message_id}".replace(" ", "-"),
        "message_id": message_id,
        "email": recipient,
        "timestamp": int(occurred_at.timestamp()),
        "sending_stream": "bulk",
        "sending_domain_name": "mail.example.org",
        "category": "made-up news",
        "custom_variables": {},
    }
    return json.dumps({"events": [mail | SAMPLES[kind]]}).encode()
