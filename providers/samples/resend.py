"""Bodies as Resend posts them, one for each kind, with made-up texts: for tests and `mailward send-test-event`."""

from datetime import datetime

from core.events import Kind

# kind -> (type, what the event adds to the data of the mail)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.ACCEPTED: ("email.sent", {}),
    Kind.DELIVERED: ("email.delivered", {}),
    Kind.DEFERRED: ("email.delivery_delayed", {}),
    Kind.SOFT_BOUNCE: (
        "email.bounced",
        {
            "bounce": {
                "type": "Transient",
                "subType": "MailboxFull",
                "message": "The mailbox was full on every attempt.",
                "diagnosticCode": ["smtp; 452 4.2.2 mailbox full"],
            }
        },
    ),
    Kind.HARD_BOUNCE: (
        "email.bounced",
        {
            "bounce": {
                "type": "Permanent",
                "subType": "General",
                "message": "The receiving server does not know this mailbox.",
                "diagnosticCode": ["smtp; 550 5.1.1 no such user"],
            }
        },
    ),
    Kind.COMPLAINT: ("email.complained", {}),
    Kind.UNSUBSCRIBED: ("contact.updated", {"unsubscribed": True}),
    Kind.REJECTED: ("email.suppressed", {"suppressed": {"reason": "previous_bounce", "message": "On the list."}}),
    Kind.OTHER: ("email.opened", {"open": {"userAgent": "made up"}}),
}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> dict[str, object]:
    """The body of `kind` about `recipient`; `message_id` becomes the mail's id."""
    event_type, extra = SAMPLES[kind]
    moment = occurred_at.isoformat()
    if event_type == "contact.updated":
        data: dict[str, object] = {"id": message_id, "email": recipient, "created_at": moment}
    else:
        mail = {"from": "News <news@example.org>", "to": [recipient], "subject": "Made-up news"}
        data = {"email_id": message_id, "created_at": moment, **mail}
    return {"type": event_type, "created_at": moment, "data": data | extra}
