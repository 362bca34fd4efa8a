"""Bodies as Postal posts them, one for each kind there is, with made-up texts."""

import json
from datetime import datetime

from core.events import Kind

MX = "mx.example.com (192.0.2.25)"

# kind -> (event, what its payload says beside the mail)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.DELIVERED: (
        "MessageSent",
        {"status": "Sent", "details": f"Message accepted by {MX}", "output": "250 2.0.0 OK\n", "sent_with_ssl": True},
    ),
    Kind.DEFERRED: (
        "MessageDelayed",
        {
            "status": "SoftFail",
            "details": f"Temporary SMTP delivery error when sending to {MX}",
            "output": "451 4.7.1 try again later\n",
        },
    ),
    Kind.SOFT_BOUNCE: (
        "MessageDeliveryFailed",
        {
            "status": "HardFail",
            "details": f"Permanent SMTP delivery error when sending to {MX}",
            "output": "554 5.7.1 refused because of its content\n",
        },
    ),
    Kind.HARD_BOUNCE: (
        "MessageDeliveryFailed",
        {
            "status": "HardFail",
            "details": f"Permanent SMTP delivery error when sending to {MX}",
            "output": "550 5.1.1 no such user\n",
        },
    ),
    Kind.REJECTED: ("MessageHeld", {"status": "Held", "details": "The recipient is on the suppression list"}),
    Kind.OTHER: ("MessageLoaded", {"ip_address": "192.0.2.1", "user_agent": "made up"}),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The event of `kind` about `recipient`; `message_id` becomes part of the Message-ID and of the event's id.

    Raises ValueError for a kind that Postal does not tell.
    """
    if kind not in SAMPLES:
        raise ValueError(f"Postal has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    event, said = SAMPLES[kind]
    moment = occurred_at.timestamp()
    mail = {
        "id": 42,
        "token": "made-up",
        "direction": "outgoing",
        "message_id": f"{message_id}@rp.postal.example.org",
        "to": recipient,
        "from": "news@example.org",
        "subject": "Made-up news",
        "timestamp": moment,
        "spam_status": "NotChecked",
        "tag": None,
    }
    body = {"event": event, "timestamp": moment, "payload": {"message": mail, **said}, "uuid": f"{event}-{message_id}"}
    return json.dumps(body).encode()
