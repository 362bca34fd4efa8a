"""What each event of SparkPost means; bounces go by their class.

Sources: SparkPost/support-docs (deliverability/bounce-classification-codes, suppression FAQ) and
SparkPost/developers.sparkpost.com (webhooks.apib).
"""

from core.events import Kind
from providers.conditions import Condition
from providers.rules import Rule, Table

BOUNCED: dict[str, Condition] = {"type": ("bounce", "out_of_band")}

RULES = (
    Rule("sparkpost.spam_complaint", Kind.COMPLAINT, {"type": "spam_complaint"}),
    Rule(
        "sparkpost.no_such_recipient",
        Kind.HARD_BOUNCE,
        BOUNCED | {"bounce_class": ("10", "30")},
        note="Invalid Recipient and No RCPT",
    ),
    Rule(
        "sparkpost.bounce_unsubscribe",
        Kind.UNSUBSCRIBED,
        BOUNCED | {"bounce_class": "90"},
        note="SparkPost files it under Hard, but it is a reply that asks to be unsubscribed: the mailbox lives",
    ),
    Rule(
        "sparkpost.admin_failure",
        Kind.REJECTED,
        BOUNCED | {"bounce_class": "25"},
        note="refused by SparkPost's configuration, as a rule by its suppression list: an echo of something older",
    ),
    Rule("sparkpost.bounce_subscribe", Kind.OTHER, BOUNCED | {"bounce_class": "80"}),
    Rule(
        "sparkpost.other_bounce",
        Kind.SOFT_BOUNCE,
        BOUNCED,
        note="1 undetermined; 20 to 24, 40, 60, 70, 100 soft; 50 to 54 block; a class nobody knows, or none",
    ),
    Rule("sparkpost.delayed", Kind.DEFERRED, {"type": "delay"}),
    Rule("sparkpost.delivered", Kind.DELIVERED, {"type": "delivery"}),
    Rule("sparkpost.unsubscribed", Kind.UNSUBSCRIBED, {"type": ("list_unsubscribe", "link_unsubscribe")}),
    Rule(
        "sparkpost.not_attempted",
        Kind.REJECTED,
        {"type": ("policy_rejection", "generation_rejection", "generation_failure")},
        note="a policy rejection may carry a bounce class too; still nothing was attempted",
    ),
    Rule("sparkpost.injected", Kind.ACCEPTED, {"type": "injection"}, note="SparkPost took the message over"),
    Rule("sparkpost.other", Kind.OTHER, note="opens, clicks, AMP, A/B tests, SMS, relayed mail, and what is to come"),
)

TABLE = Table(RULES, discriminator="type")
