"""What each event of Brevo means.

Sources: developers.brevo.com/docs/transactional-webhooks, and the captured payloads in django-anymail's tests.
"""

from core.events import Kind
from providers.rules import Rule, Table

RULES = (
    Rule("brevo.spam", Kind.COMPLAINT, {"event": ("spam", "complaint")}),
    Rule(
        "brevo.hard_bounce",
        Kind.HARD_BOUNCE,
        {"event": ("hard_bounce", "invalid_email", "hardBounce", "invalid")},
        note="names without an underscore are those of the configuration API, taken in case they ever come",
    ),
    Rule("brevo.soft_bounce", Kind.SOFT_BOUNCE, {"event": ("soft_bounce", "softBounce")}),
    Rule(
        "brevo.deferred",
        Kind.DEFERRED,
        {"event": "deferred"},
        note="seen with a reason of 550 5.1.1: what is dead will come as a hard bounce",
    ),
    Rule("brevo.delivered", Kind.DELIVERED, {"event": "delivered"}),
    Rule("brevo.unsubscribed", Kind.UNSUBSCRIBED, {"event": ("unsubscribe", "unsubscribed")}),
    Rule(
        "brevo.not_attempted", Kind.REJECTED, {"event": ("blocked", "error")}, note="a block list, or a fault of ours"
    ),
    Rule("brevo.requested", Kind.ACCEPTED, {"event": "request"}, note="Brevo took the message over"),
    Rule("brevo.other", Kind.OTHER, note="opens and clicks, of proxies too, list_addition, and what is to come"),
)

TABLE = Table(RULES, discriminator="event")
