"""What each event of Mailjet means. Source: mailjet/api-documentation (guides, Event API)."""

from core.events import Kind
from providers.conditions import Condition
from providers.rules import Rule, Table

BOUNCED: dict[str, Condition] = {"event": "bounce"}
HARD: dict[str, Condition] = BOUNCED | {"hard_bounce": True}

RULES = (
    Rule("mailjet.spam", Kind.COMPLAINT, {"event": "spam"}),
    Rule(
        "mailjet.hard_bounce_not_the_mailbox",
        Kind.SOFT_BOUNCE,
        HARD | {"error_related_to": ("spam", "content", "system", "mailjet")},
        note="permanent for this message, but its cause is not the address",
    ),
    Rule("mailjet.hard_bounce", Kind.HARD_BOUNCE, HARD),
    Rule("mailjet.soft_bounce", Kind.SOFT_BOUNCE, BOUNCED, note="greylisting among them; or hardness is not stated"),
    Rule(
        "mailjet.blocked",
        Kind.REJECTED,
        {"event": "blocked"},
        note="Mailjet did not try, even where the error it gives is that of an earlier bounce",
    ),
    Rule("mailjet.unsubscribed", Kind.UNSUBSCRIBED, {"event": "unsub"}),
    Rule("mailjet.sent", Kind.DELIVERED, {"event": "sent"}, note="sent means that the receiving server took it"),
    Rule("mailjet.other", Kind.OTHER, note="open, click, and what is to come"),
)

TABLE = Table(RULES, discriminator="event")
