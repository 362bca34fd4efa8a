"""Bodies as a Worker forwards them from Cloudflare, one for each kind there is, with made-up texts."""

from datetime import datetime

from core.events import Kind

# kind -> (last word of the type, what the event adds to its payload)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.DELIVERED: (
        "delivered",
        {"terminal": True, "delivery": {"status": "delivered", "smtpStatusCode": "250", "smtpResponse": "250 OK"}},
    ),
    Kind.DEFERRED: (
        "deferred",
        {
            "terminal": False,
            "bounce": {"type": "soft", "classification": "temporary_failure", "reason": "greylisted"},
            "delivery": {"smtpStatusCode": "451", "smtpEnhancedStatusCode": "4.7.1"},
        },
    ),
    Kind.SOFT_BOUNCE: (
        "bounced",
        {
            "terminal": True,
            "bounce": {"type": "soft", "classification": "temporary_failure", "reason": "mailbox full"},
            "delivery": {"smtpStatusCode": "452", "smtpEnhancedStatusCode": "4.2.2"},
        },
    ),
    Kind.HARD_BOUNCE: (
        "bounced",
        {
            "terminal": True,
            "bounce": {"type": "hard", "classification": "permanent_failure", "reason": "no such user"},
            "delivery": {"smtpStatusCode": "550", "smtpEnhancedStatusCode": "5.1.1"},
        },
    ),
    Kind.COMPLAINT: ("complained", {"terminal": True, "complaint": {"type": "abuse"}}),
    Kind.REJECTED: (
        "rejected",
        {"terminal": True, "rejection": {"reason": "suppressed", "party": "recipient", "detail": "on the list"}},
    ),
}


def sample(
    kind: Kind, recipient: str, event_id: str, occurred_at: datetime, account_id: str, domain: str
) -> dict[str, object]:
    """The body of `kind` about `recipient`. Raises ValueError for a kind that Cloudflare does not tell."""
    if kind not in SAMPLES:
        raise ValueError(f"Cloudflare has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    word, extra = SAMPLES[kind]
    return {
        "type": f"cf.email.sending.message.{word}",
        "source": {"type": "email.sending", "zoneId": "made-up-zone", "domain": domain},
        "payload": {"eventId": event_id, "messageId": f"mail-{event_id}", "recipient": recipient, **extra},
        "metadata": {
            "accountId": account_id,
            "eventSubscriptionId": "made-up-subscription",
            "eventSchemaVersion": 1,
            "eventTimestamp": occurred_at.isoformat(),
        },
    }
