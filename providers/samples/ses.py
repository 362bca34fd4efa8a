"""Events as Amazon SES publishes them, one for each kind, with made-up texts: the Message of an SNS envelope."""

import json
from collections.abc import Callable
from datetime import datetime

from core.events import Kind

Part = tuple[str, Callable[[str], dict[str, object]]]


def _bounced(bounce_type: str, sub_type: str, status: str, diagnostic: str) -> Part:
    def bounce(recipient: str) -> dict[str, object]:
        failed = {"emailAddress": recipient, "action": "failed", "status": status, "diagnosticCode": diagnostic}
        return {"bounceType": bounce_type, "bounceSubType": sub_type, "bouncedRecipients": [failed]}

    return "bounce", bounce


def _without_recipient(name: str, **fields: object) -> Part:
    return name, lambda _recipient: dict(fields)


# kind -> (eventType, the object of the event and what makes it for a recipient)
SAMPLES: dict[Kind, tuple[str, Part]] = {
    Kind.ACCEPTED: ("Send", _without_recipient("send")),
    Kind.DELIVERED: (
        "Delivery",
        ("delivery", lambda recipient: {"recipients": [recipient], "smtpResponse": "250 2.0.0 OK"}),
    ),
    Kind.DEFERRED: (
        "DeliveryDelay",
        (
            "deliveryDelay",
            lambda recipient: {
                "delayType": "MailboxFull",
                "delayedRecipients": [{"emailAddress": recipient, "status": "4.2.2"}],
            },
        ),
    ),
    Kind.SOFT_BOUNCE: ("Bounce", _bounced("Transient", "MailboxFull", "4.2.2", "smtp; 452 4.2.2 mailbox full")),
    Kind.HARD_BOUNCE: ("Bounce", _bounced("Permanent", "General", "5.1.1", "smtp; 550 5.1.1 no such user")),
    Kind.COMPLAINT: (
        "Complaint",
        (
            "complaint",
            lambda recipient: {
                "complaintSubType": None,
                "complaintFeedbackType": "abuse",
                "complainedRecipients": [{"emailAddress": recipient}],
            },
        ),
    ),
    Kind.UNSUBSCRIBED: (
        "Subscription",
        _without_recipient("subscription", newTopicPreferences={"unsubscribeAll": True}),
    ),
    Kind.REJECTED: (
        "Bounce",
        _bounced("Permanent", "OnAccountSuppressionList", "5.1.1", "the address is on the suppression list"),
    ),
    Kind.OTHER: ("Open", _without_recipient("open", userAgent="made up")),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The event of `kind` about `recipient`; `message_id` becomes the mail's id."""
    event_type, (name, part) = SAMPLES[kind]
    moment = occurred_at.isoformat()
    mail = {"messageId": message_id, "timestamp": moment, "source": "news@example.org", "destination": [recipient]}
    event = {"eventType": event_type, "mail": mail, name: {"timestamp": moment, **part(recipient)}}
    return json.dumps(event).encode()
