"""What each Email Sending event of Cloudflare means. Source: the Cloudflare documentation, "Email Sending events"."""

from core.events import Kind
from providers.rules import Rule, Table

MESSAGE = "cf.email.sending.message."

RULES = (
    Rule("cloudflare.complained", Kind.COMPLAINT, {"type": f"{MESSAGE}complained"}),
    Rule("cloudflare.hard_bounce", Kind.HARD_BOUNCE, {"type": f"{MESSAGE}bounced", "payload.bounce.type": "hard"}),
    Rule(
        "cloudflare.other_bounce",
        Kind.SOFT_BOUNCE,
        {"type": f"{MESSAGE}bounced"},
        note="soft: retries were exhausted, which is final for the mail and no proof of a dead address; or not stated",
    ),
    Rule(
        "cloudflare.deferred",
        Kind.DEFERRED,
        {"type": f"{MESSAGE}deferred"},
        note="carries a bounce object too, so the type decides and not the presence of that object",
    ),
    Rule("cloudflare.delivered", Kind.DELIVERED, {"type": f"{MESSAGE}delivered"}),
    Rule(
        "cloudflare.not_attempted",
        Kind.REJECTED,
        {"type": (f"{MESSAGE}rejected", f"{MESSAGE}failed")},
        note="suppression, validation or policy: nothing was tried, so nothing new is known",
    ),
    Rule("cloudflare.other", Kind.OTHER),
)

TABLE = Table(RULES, discriminator="type")
