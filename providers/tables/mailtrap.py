"""What each event of Mailtrap means.

Sources: mailtrap/mailtrap-docs, documentation/email-api-smtp/webhooks.md and bounce-categorization.md.
"""

from core.events import Kind
from providers.conditions import ABSENT
from providers.enhanced_codes import BAD_ADDRESS
from providers.rules import Rule, Table

RULES = (
    Rule("mailtrap.spam", Kind.COMPLAINT, {"event": "spam"}),
    Rule(
        "mailtrap.bad_recipient",
        Kind.HARD_BOUNCE,
        {"event": "bounce", "bounce_category": ("badrecipient", "hard")},
        note="hard stands in the sample of the API reference only",
    ),
    Rule(
        "mailtrap.uncategorised_bad_address",
        Kind.HARD_BOUNCE,
        {"event": "bounce", "bounce_category": ABSENT, "response": BAD_ADDRESS},
        note="without a category, a 5.1.x code of the receiving server can still say that the address is dead",
    ),
    Rule(
        "mailtrap.other_bounce",
        Kind.SOFT_BOUNCE,
        {"event": "bounce"},
        note="final for the mail; overquota and timeout, too, which Mailtrap suppresses, prove no dead address",
    ),
    Rule(
        "mailtrap.soft_bounce",
        Kind.DEFERRED,
        {"event": ("soft bounce", "soft_bounce")},
        note="Mailtrap keeps trying; payloads have a blank in the name, its settings an underscore",
    ),
    Rule("mailtrap.delivery", Kind.DELIVERED, {"event": "delivery"}),
    Rule("mailtrap.unsubscribe", Kind.UNSUBSCRIBED, {"event": "unsubscribe"}),
    Rule(
        "mailtrap.not_attempted",
        Kind.REJECTED,
        {"event": ("reject", "suspension")},
        note="suppressed, over a limit, or the account is suspended: nothing was tried",
    ),
    Rule("mailtrap.other", Kind.OTHER, note="open, click, activity_log.*, and what is to come"),
)

TABLE = Table(RULES, discriminator="event")
