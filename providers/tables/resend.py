"""What each event of Resend means.

Sources: resend.com/docs/webhooks, resend/resend-openapi and resend/resend-python.
"""

from core.events import Kind
from providers.conditions import ABSENT, Condition
from providers.rules import Rule, Table

BOUNCED: dict[str, Condition] = {"type": "email.bounced"}
PERMANENT: dict[str, Condition] = BOUNCED | {"data.bounce.type": "Permanent"}
SUB_TYPE = "data.bounce.subType"

RULES = (
    Rule("resend.complained", Kind.COMPLAINT, {"type": "email.complained"}),
    Rule("resend.permanent_no_mailbox", Kind.HARD_BOUNCE, PERMANENT | {SUB_TYPE: ("General", "NoEmail")}),
    Rule(
        "resend.permanent_on_suppression_list",
        Kind.REJECTED,
        PERMANENT | {SUB_TYPE: ("OnAccountSuppressionList", "OnTenantSuppressionList", "EmailValidationSuppressed")},
        note="nothing was attempted, and the list entry may stem from a complaint or a manual add",
    ),
    Rule(
        "resend.permanent_suppressed",
        Kind.HARD_BOUNCE,
        PERMANENT | {SUB_TYPE: "Suppressed"},
        policy="resend_suppressed_is_hard",
        otherwise=Kind.REJECTED,
        note="listed because of recent hard bounces; off where only fresh attempts may delete",
    ),
    Rule(
        "resend.permanent_not_the_mailbox",
        Kind.SOFT_BOUNCE,
        PERMANENT
        | {
            SUB_TYPE: (
                "MailboxFull",
                "MessageTooLarge",
                "ContentRejected",
                "AttachmentRejected",
                "MessageRejected",
                "Undetermined",
            )
        },
        note="about this message or a full mailbox, not a dead address",
    ),
    Rule("resend.permanent_without_sub_type", Kind.HARD_BOUNCE, PERMANENT | {SUB_TYPE: ABSENT}),
    Rule(
        "resend.permanent_unknown_sub_type",
        Kind.HARD_BOUNCE,
        PERMANENT,
        policy="resend_unknown_permanent_is_hard",
        otherwise=Kind.SOFT_BOUNCE,
        note="a sub-type nobody has documented: so far new ones were reasons of suppression, so the record is kept",
    ),
    Rule(
        "resend.transient",
        Kind.SOFT_BOUNCE,
        BOUNCED | {"data.bounce.type": ("Transient", "Temporary")},
        note="sent after the retries ran out; Temporary stands in the Python SDK only",
    ),
    Rule(
        "resend.bounce_undetermined",
        Kind.SOFT_BOUNCE,
        BOUNCED,
        note="Undetermined, an unknown type, or a payload of 2023 with a message only: never delete on these",
    ),
    Rule("resend.suppressed", Kind.REJECTED, {"type": "email.suppressed"}),
    Rule(
        "resend.suppression_added",
        Kind.REJECTED,
        {"type": "suppression.added"},
        note="the echo of an earlier bounce or complaint, or a manual add",
    ),
    Rule("resend.failed", Kind.REJECTED, {"type": "email.failed"}),
    Rule("resend.delivered", Kind.DELIVERED, {"type": "email.delivered"}),
    Rule("resend.delivery_delayed", Kind.DEFERRED, {"type": "email.delivery_delayed"}),
    Rule("resend.contact_unsubscribed", Kind.UNSUBSCRIBED, {"type": "contact.updated", "data.unsubscribed": True}),
    Rule("resend.sent", Kind.ACCEPTED, {"type": "email.sent"}, note="Resend took the message over; never removes"),
    Rule(
        "resend.other",
        Kind.OTHER,
        note="scheduled, opened, clicked, received, contact.*, domain.*, and what is to come",
    ),
)

TABLE = Table(RULES, discriminator="type")
