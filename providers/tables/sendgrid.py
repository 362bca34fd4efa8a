"""What each event of SendGrid means.

Sources: twilio.com/docs/sendgrid/for-developers/tracking-events/event and the archived sendgrid/docs.
"""

from core.events import Kind
from providers.conditions import ABSENT
from providers.rules import Rule, Table

RULES = (
    Rule("sendgrid.spam_report", Kind.COMPLAINT, {"event": "spamreport"}),
    Rule(
        "sendgrid.blocked_bounce",
        Kind.SOFT_BOUNCE,
        {"event": "bounce", "type": "blocked"},
        note="a refusal of this message (reputation, content, volume), even where the status begins with 5",
    ),
    Rule("sendgrid.bounce", Kind.HARD_BOUNCE, {"event": "bounce", "type": "bounce"}),
    Rule(
        "sendgrid.untyped_invalid_address",
        Kind.HARD_BOUNCE,
        {"event": "bounce", "type": ABSENT, "bounce_classification": "Invalid Address"},
        note="without a type the classification alone can say that the mailbox is dead",
    ),
    Rule(
        "sendgrid.untyped_bounce",
        Kind.SOFT_BOUNCE,
        {"event": "bounce"},
        note="no type, or one that nobody has documented: undetermined, so the record is kept",
    ),
    Rule(
        "sendgrid.blocked",
        Kind.SOFT_BOUNCE,
        {"event": "blocked"},
        note="a name from SendGrid's statistics; the webhook is only known to say bounce with type blocked",
    ),
    Rule(
        "sendgrid.dropped",
        Kind.REJECTED,
        {"event": "dropped"},
        note="nothing was tried, also where the reason reads Bounced Address: that is a hit in the suppression list",
    ),
    Rule("sendgrid.deferred", Kind.DEFERRED, {"event": "deferred"}),
    Rule("sendgrid.delivered", Kind.DELIVERED, {"event": "delivered"}),
    Rule("sendgrid.unsubscribe", Kind.UNSUBSCRIBED, {"event": ("unsubscribe", "group_unsubscribe")}),
    Rule(
        "sendgrid.processed",
        Kind.ACCEPTED,
        {"event": "processed"},
        note="SendGrid took the message over; never removes",
    ),
    Rule("sendgrid.other", Kind.OTHER, note="open, click, group_resubscribe, account_status_change, what is to come"),
)

TABLE = Table(RULES, discriminator="event")
