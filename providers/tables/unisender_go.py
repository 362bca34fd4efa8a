"""What each email status of Unisender Go means; the rules see the `event_data` of an event.

Which errors of `hard_bounced` are about the address is our own reading of their names.
Sources: godocs.unisender.ru/web-api-ref#callback-format, docs.unione.io, django-anymail's webhooks/unisender_go.py.
"""

from core.events import Kind
from providers.conditions import Condition
from providers.rules import Rule, Table

HARD: dict[str, Condition] = {"status": "hard_bounced"}
REASON = "delivery_info.delivery_status"

RULES = (
    Rule("unisender_go.spam", Kind.COMPLAINT, {"status": "spam"}),
    Rule("unisender_go.hard_unsubscribed", Kind.UNSUBSCRIBED, HARD | {REASON: "err_unsubscribed"}),
    Rule(
        "unisender_go.hard_not_the_mailbox",
        Kind.SOFT_BOUNCE,
        HARD
        | {
            REASON: (
                "err_spam_rejected",
                "err_spam_skipped",
                "err_blacklisted",
                "err_too_large",
                "err_skip_letter",
                "err_lost",
                "err_mailbox_full",
                "err_will_retry",
                "err_destination_misconfigured",
                "err_unreachable",
                "err_delivery_failed",
            )
        },
        note="content, quota, policy or infrastructure: final for the mail, no proof of a dead address",
    ),
    Rule(
        "unisender_go.hard_bounced",
        Kind.HARD_BOUNCE,
        HARD,
        note="err_user_unknown, err_user_inactive, err_mailbox_discarded, err_domain_inactive, or no reason",
    ),
    Rule("unisender_go.soft_bounced", Kind.SOFT_BOUNCE, {"status": "soft_bounced"}),
    Rule("unisender_go.delivered", Kind.DELIVERED, {"status": "delivered"}),
    Rule("unisender_go.unsubscribed", Kind.UNSUBSCRIBED, {"status": "unsubscribed"}),
    Rule(
        "unisender_go.sent",
        Kind.ACCEPTED,
        {"status": "sent"},
        note="Unisender Go took the message over for delivery; never removes",
    ),
    Rule("unisender_go.other", Kind.OTHER, note="opened, clicked, subscribed, spam blocks, and what is to come"),
)

TABLE = Table(RULES, discriminator="status")
