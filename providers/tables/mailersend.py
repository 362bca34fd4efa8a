"""What each event of MailerSend means. Source: developers.mailersend.com/api/v1/account/webhooks."""

from core.events import Kind
from providers.rules import Rule, Table

RULES = (
    Rule("mailersend.spam_complaint", Kind.COMPLAINT, {"type": "activity.spam_complaint"}),
    Rule("mailersend.hard_bounced", Kind.HARD_BOUNCE, {"type": "activity.hard_bounced"}),
    Rule("mailersend.soft_bounced", Kind.SOFT_BOUNCE, {"type": "activity.soft_bounced"}),
    Rule("mailersend.delivered", Kind.DELIVERED, {"type": "activity.delivered"}),
    Rule("mailersend.unsubscribed", Kind.UNSUBSCRIBED, {"type": "activity.unsubscribed"}),
    Rule("mailersend.deferred", Kind.DEFERRED, {"type": "activity.deferred"}, note="sent for paid plans only"),
    Rule(
        "mailersend.sent",
        Kind.ACCEPTED,
        {"type": "activity.sent"},
        note="MailerSend took the message over for delivery; never removes",
    ),
    Rule(
        "mailersend.other",
        Kind.OTHER,
        note="opens, clicks, surveys, suppressed, sender_identity.*, maintenance.*, recipient.*, and what is to come",
    ),
)

TABLE = Table(RULES, discriminator="type")
