"""Bodies as SparkPost posts them, one for each kind, with made-up texts."""

import json
from datetime import datetime

from core.events import Kind

# kind -> (class, type, what the event adds)
SAMPLES: dict[Kind, tuple[str, str, dict[str, object]]] = {
    Kind.ACCEPTED: ("message_event", "injection", {"msg_size": "1337"}),
    Kind.DELIVERED: ("message_event", "delivery", {"queue_time": "812"}),
    Kind.DEFERRED: ("message_event", "delay", {"bounce_class": "20", "error_code": "451", "reason": "451 greylisted"}),
    Kind.SOFT_BOUNCE: (
        "message_event",
        "bounce",
        {"bounce_class": "22", "error_code": "552", "reason": "552 5.2.2 mailbox full"},
    ),
    Kind.HARD_BOUNCE: (
        "message_event",
        "bounce",
        {"bounce_class": "10", "error_code": "550", "reason": "550 5.1.1 no such user"},
    ),
    Kind.COMPLAINT: ("message_event", "spam_complaint", {"fbtype": "abuse", "report_by": "example.net"}),
    Kind.UNSUBSCRIBED: ("unsubscribe_event", "list_unsubscribe", {}),
    Kind.REJECTED: (
        "gen_event",
        "generation_rejection",
        {"error_code": "554", "reason": "554 5.7.1 recipient address suppressed due to customer policy"},
    ),
    Kind.OTHER: ("track_event", "open", {"user_agent": "made up"}),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The body of `kind` about `recipient`; `message_id` becomes the id of the event too. Never raises ValueError."""
    name, event_type, extra = SAMPLES[kind]
    event = {
        "type": event_type,
        "event_id": message_id,
        "message_id": f"mail-{message_id}",
        "transmission_id": f"transmission-{message_id}",
        "rcpt_to": recipient.lower(),
        "raw_rcpt_to": recipient,
        "timestamp": str(int(occurred_at.timestamp())),
    }
    return json.dumps([{"msys": {name: event | extra}}]).encode()
