"""Bodies as Mailjet posts them, one for each kind there is, with made-up texts."""

import json
import zlib
from datetime import datetime

from core.events import Kind

# kind -> (event, what it adds)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.DELIVERED: ("sent", {"smtp_reply": "sent (250 2.0.0 OK)"}),
    Kind.SOFT_BOUNCE: (
        "bounce",
        {"blocked": False, "hard_bounce": False, "error_related_to": "domain", "error": "greylisted"},
    ),
    Kind.HARD_BOUNCE: (
        "bounce",
        {"blocked": False, "hard_bounce": True, "error_related_to": "recipient", "error": "user unknown"},
    ),
    Kind.COMPLAINT: ("spam", {"source": "example.net"}),
    Kind.UNSUBSCRIBED: ("unsub", {"mj_list_id": 1}),
    Kind.REJECTED: ("blocked", {"error_related_to": "mailjet", "error": "preblocked"}),
    Kind.OTHER: ("open", {"agent": "made up"}),
}
BEYOND_FLOATS = 1 << 54  # Mailjet's own ids are so large


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The body of `kind` about `recipient`; a number made of `message_id` becomes the mail's id.

    Raises ValueError for a kind that Mailjet does not tell.
    """
    if kind not in SAMPLES:
        raise ValueError(f"Mailjet has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    name, extra = SAMPLES[kind]
    event = {
        "event": name,
        "time": int(occurred_at.timestamp()),
        "MessageID": BEYOND_FLOATS + zlib.crc32(message_id.encode()),
        "email": recipient,
        "customcampaign": "",
        "Payload": "",
    }
    return json.dumps([event | extra]).encode()
