"""Bodies as Mandrill posts them, one for each kind, with made-up texts: for tests and `mailward send-test-event`."""

import json
from datetime import datetime
from urllib.parse import urlencode

from core.events import Kind

# kind -> (event, what the event adds to its message)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.ACCEPTED: ("send", {"state": "sent"}),
    Kind.DELIVERED: ("delivered", {"state": "delivered"}),
    Kind.DEFERRED: (
        "deferral",
        {"state": "deferred", "smtp_events": [{"type": "deferred", "diag": "451 4.7.1 try again later"}]},
    ),
    Kind.SOFT_BOUNCE: (
        "soft_bounce",
        {"state": "soft-bounced", "bounce_description": "mailbox_full", "diag": "smtp;552 5.2.2 mailbox full"},
    ),
    Kind.HARD_BOUNCE: (
        "hard_bounce",
        {"state": "bounced", "bounce_description": "bad_mailbox", "diag": "smtp;550 5.1.1 no such user"},
    ),
    Kind.COMPLAINT: ("spam", {"state": "spam"}),
    Kind.UNSUBSCRIBED: ("unsub", {"state": "unsub"}),
    Kind.REJECTED: ("reject", {"state": "rejected"}),
    Kind.OTHER: ("open", {"state": "sent"}),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The batch of one event of `kind` about `recipient`; `message_id` becomes the mail's id."""
    event, extra = SAMPLES[kind]
    moment = int(occurred_at.timestamp())
    mail: dict[str, object] = {"_id": message_id, "ts": moment, "email": recipient, "tags": [], "metadata": []}
    return form([{"event": event, "_id": message_id, "ts": moment, "msg": mail | extra}])


def form(events: object) -> bytes:
    """The form post whose one field holds `events` as JSON."""
    return urlencode({"mandrill_events": json.dumps(events, separators=(",", ":"))}).encode()
