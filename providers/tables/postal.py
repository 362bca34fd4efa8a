"""What each event of Postal means. It has none for complaints.

Sources: postalserver/postal (app/senders/smtp_sender.rb, app/lib/message_dequeuer) and docs.postalserver.io, webhooks.
"""

from core.events import Kind
from providers.conditions import Condition, Prefix
from providers.enhanced_codes import BAD_ADDRESS
from providers.rules import Rule, Table

FAILED: dict[str, Condition] = {"event": "MessageDeliveryFailed"}
# Postal writes this in front of the answer of a receiving server that began with 5, and for no other failure.
REFUSED: dict[str, Condition] = FAILED | {
    "payload.status": "HardFail",
    "payload.details": Prefix("Permanent SMTP delivery error"),
}

RULES = (
    Rule(
        "postal.incoming",
        Kind.OTHER,
        {"payload.message.direction": "incoming"},
        note="about mail to us: its recipient is ours, not one of a campaign",
    ),
    Rule("postal.refused_bad_address", Kind.HARD_BOUNCE, REFUSED | {"payload.output": BAD_ADDRESS}),
    Rule(
        "postal.refused",
        Kind.HARD_BOUNCE,
        REFUSED,
        policy="postal_any_5xx_is_hard",
        otherwise=Kind.SOFT_BOUNCE,
        note="a 5xx without a code about the address: as likely a refusal of content, sender or policy",
    ),
    Rule(
        "postal.failed",
        Kind.SOFT_BOUNCE,
        FAILED,
        note="HardFail, too, is what Postal says when attempts ran out, of spam, and without a domain to send from",
    ),
    Rule(
        "postal.bounced",
        Kind.SOFT_BOUNCE,
        {"event": "MessageBounced"},
        note="a bounce mail that came back later; Postal does not say of which class",
    ),
    Rule("postal.delayed", Kind.DEFERRED, {"event": "MessageDelayed"}),
    Rule("postal.sent", Kind.DELIVERED, {"event": "MessageSent"}, note="accepted by the receiving server"),
    Rule(
        "postal.held",
        Kind.REJECTED,
        {"event": "MessageHeld"},
        note="suppression list, limit, development mode or held credential; an administrator may still release it",
    ),
    Rule("postal.other", Kind.OTHER, note="MessageLinkClicked, MessageLoaded, DomainDNSError, SendLimit*, to come"),
)

TABLE = Table(RULES, discriminator="event")
