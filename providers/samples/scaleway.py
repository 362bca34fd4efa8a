"""Events as Scaleway Transactional Email publishes them, with made-up texts: the Message of an SNS envelope."""

import json
from datetime import datetime

from core.events import Kind

# kind -> (type, what the event adds)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.DELIVERED: ("email_delivered", {"email_response_code": 250, "email_response_message": "2.0.0 OK"}),
    Kind.DEFERRED: (
        "email_deferred",
        {"email_try_count": 2, "email_response_code": 451, "email_response_message": "4.7.1 greylisted"},
    ),
    Kind.SOFT_BOUNCE: (
        "email_dropped",
        {"email_response_code": 554, "email_response_message": "5.7.1 refused by a rule of ours"},
    ),
    Kind.HARD_BOUNCE: (
        "email_mailbox_not_found",
        {"email_response_code": 550, "email_response_message": "5.1.1 no such user"},
    ),
    Kind.REJECTED: (
        "email_blocklisted",
        {"blocklist_type": "mailbox_not_found", "blocklist_reason": "a hard bounce of last week"},
    ),
    Kind.OTHER: ("email_queued", {}),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The event of `kind` about `recipient`; `message_id` becomes the ids of event and mail. Raises ValueError for a
    kind that Scaleway does not tell."""
    if kind not in SAMPLES:
        raise ValueError(f"Scaleway has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    event_type, extra = SAMPLES[kind]
    event = {
        "id": f"{message_id}-{event_type}",
        "type": event_type,
        "domain_name": "example.org",
        "created_at": occurred_at.isoformat(),
        "email_id": message_id,
        "email_from": "news@example.org",
        "email_to": recipient,
        "email_headers": [],
        **extra,
    }
    return json.dumps(event).encode()
