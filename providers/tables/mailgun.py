"""What each event of Mailgun means, in its current JSON posts and in the forms of its legacy webhooks.

Sources: mailgun/mailgun-go (events/enums.go, objects.go: the reasons, which the documentation does not list);
documentation.mailgun.com, webhook payloads; mailgun/documentation (user_manual.rst) for the legacy forms.
"""

from core.events import Kind
from providers.conditions import Condition, Pattern
from providers.rules import Rule, Table

FAILED: dict[str, Condition] = {"event": "failed"}
PERMANENT: dict[str, Condition] = FAILED | {"severity": "permanent"}
UNSPECIFIC: dict[str, Condition] = PERMANENT | {"reason": ("generic", "hardfail")}
BOUNCE_TYPE, ENHANCED_CODE = "delivery-status.bounce-type", "delivery-status.enhanced-code"
NO_SUCH_ADDRESS = Pattern(r"^5\.1\.(1|2|3|6|10)$")

RULES = (
    Rule("mailgun.complained", Kind.COMPLAINT, {"event": "complained"}),
    Rule("mailgun.unsubscribed", Kind.UNSUBSCRIBED, {"event": "unsubscribed"}),
    Rule("mailgun.failed_temporarily", Kind.DEFERRED, FAILED | {"severity": "temporary"}),
    Rule(
        "mailgun.failed_on_suppression_list",
        Kind.REJECTED,
        FAILED | {"reason": ("suppress-bounce", "suppress-complaint", "suppress-unsubscribe")},
        note="codes 605, 606, 607: nothing was attempted, and permanent says only that Mailgun gave this mail up",
    ),
    Rule("mailgun.failed_soft", Kind.SOFT_BOUNCE, PERMANENT | {BOUNCE_TYPE: "soft"}),
    Rule("mailgun.bounced", Kind.HARD_BOUNCE, PERMANENT | {"reason": ("bounce",)}),
    Rule("mailgun.failed_hard", Kind.HARD_BOUNCE, UNSPECIFIC | {BOUNCE_TYPE: "hard"}),
    Rule(
        "mailgun.failed_no_such_address",
        Kind.HARD_BOUNCE,
        UNSPECIFIC | {ENHANCED_CODE: NO_SUCH_ADDRESS},
        note="bad mailbox, domain or syntax, moved, no mail accepted: codes about the address, not about the mail",
    ),
    Rule(
        "mailgun.failed_otherwise",
        Kind.SOFT_BOUNCE,
        FAILED,
        note="old, espblock, blacklisted, greylisted, generic without proof, no severity: final for the mail alone",
    ),
    Rule("mailgun.rejected", Kind.REJECTED, {"event": "rejected"}),
    Rule("mailgun.delivered", Kind.DELIVERED, {"event": "delivered"}),
    Rule("mailgun.accepted", Kind.ACCEPTED, {"event": "accepted"}, note="Mailgun took the mail over; never removes"),
    Rule("mailgun.other", Kind.OTHER, note="opened, clicked, stored, list_*, and what is to come"),
)

LEGACY_RULES = (
    Rule("mailgun_legacy.complained", Kind.COMPLAINT, {"event": "complained"}),
    Rule("mailgun_legacy.unsubscribed", Kind.UNSUBSCRIBED, {"event": "unsubscribed"}),
    Rule("mailgun_legacy.bounced_5xx", Kind.HARD_BOUNCE, {"event": "bounced", "code": Pattern("^5")}),
    Rule("mailgun_legacy.bounced_otherwise", Kind.SOFT_BOUNCE, {"event": "bounced"}),
    Rule(
        "mailgun_legacy.dropped_on_suppression_list",
        Kind.REJECTED,
        {"event": "dropped", "reason": "hardfail", "code": Pattern("^(605|606|607)$")},
    ),
    Rule(
        "mailgun_legacy.dropped",
        Kind.REJECTED,
        {"event": "dropped"},
        note="hardfail, old or suppressed: Mailgun does not say whether it tried, so nothing new is known",
    ),
    Rule("mailgun_legacy.delivered", Kind.DELIVERED, {"event": "delivered"}),
    Rule("mailgun_legacy.other", Kind.OTHER, note="opened, clicked, stored"),
)

TABLE = Table(RULES, discriminator="event")
LEGACY_TABLE = Table(LEGACY_RULES, discriminator="event")
