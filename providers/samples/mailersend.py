"""Bodies as MailerSend posts them, one for each kind there is, with made-up texts, slashes escaped as its PHP does."""

import json
from datetime import datetime

from core.events import Kind

# kind -> (last word of the type, what its meta says: an empty list where there is nothing to say)
SAMPLES: dict[Kind, tuple[str, object]] = {
    Kind.ACCEPTED: ("sent", []),
    Kind.DELIVERED: ("delivered", []),
    Kind.DEFERRED: ("deferred", []),
    Kind.SOFT_BOUNCE: ("soft_bounced", {"bounce_type": "soft", "bounce_code": 452, "bounce_reason": "Mailbox full"}),
    Kind.HARD_BOUNCE: ("hard_bounced", {"bounce_type": "hard", "bounce_code": 550, "bounce_reason": "No such user"}),
    Kind.COMPLAINT: ("spam_complaint", []),
    Kind.UNSUBSCRIBED: ("unsubscribed", {"unsubscribe_reason": "NO_LONGER_WANT"}),
    Kind.OTHER: ("clicked", {"url": "https://example.org/made-up"}),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The event of `kind` about `recipient`; `message_id` is the mail's id and part of the event's.

    Raises ValueError for a kind that MailerSend does not tell.
    """
    if kind not in SAMPLES:
        raise ValueError(f"MailerSend has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    word, meta = SAMPLES[kind]
    data = {
        "id": f"{word}-{message_id}",
        "domain_id": "made-up-domain",
        "message_id": message_id,
        "email_id": f"mail-{message_id}",
        "type": word,
        "subject": "Made-up news",
        "recipient": recipient,
        "tags": [],
        "meta": meta,
    }
    body = {"type": f"activity.{word}", "created_at": occurred_at.isoformat(), "data": data, "webhook_id": "made-up"}
    return json.dumps(body, separators=(",", ":")).replace("/", "\\/").encode()
