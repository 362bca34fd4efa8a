"""What each event of Scaleway Transactional Email means. Source: its documentation, "Webhook event payloads"."""

from core.events import Kind
from providers.rules import Rule, Table

RULES = (
    Rule("scaleway.mailbox_not_found", Kind.HARD_BOUNCE, {"type": "email_mailbox_not_found"}),
    Rule(
        "scaleway.dropped",
        Kind.HARD_BOUNCE,
        {"type": "email_dropped"},
        policy="scaleway_dropped_is_hard",
        otherwise=Kind.SOFT_BOUNCE,
        note="refused for good, not always because of the address: a missing mailbox has an event of its own",
    ),
    Rule("scaleway.deferred", Kind.DEFERRED, {"type": "email_deferred"}),
    Rule("scaleway.delivered", Kind.DELIVERED, {"type": "email_delivered"}),
    Rule("scaleway.blocklisted", Kind.REJECTED, {"type": ("email_blocklisted",)}),
    Rule(
        "scaleway.spam",
        Kind.OTHER,
        {"type": "email_spam"},
        note="a filter's verdict or a reader's, which it does not say: no complaint",
    ),
    Rule("scaleway.other", Kind.OTHER, note="email_queued, blocklist_created, unknown_type, and what is to come"),
)

TABLE = Table(RULES, discriminator="type")
