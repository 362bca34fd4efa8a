"""What each event of Mandrill means: message events have an `event`, changes of its lists a `type` and an `action`.

Sources: mailchimp.com/developer/transactional/docs/webhooks, anymail's webhooks/mandrill.py.
"""

from core.events import Kind
from providers.rules import Rule, Table

RULES = (
    Rule("mandrill.spam", Kind.COMPLAINT, {"event": "spam"}),
    Rule("mandrill.hard_bounce", Kind.HARD_BOUNCE, {"event": "hard_bounce"}),
    Rule("mandrill.soft_bounce", Kind.SOFT_BOUNCE, {"event": "soft_bounce"}),
    Rule("mandrill.deferral", Kind.DEFERRED, {"event": "deferral"}),
    Rule("mandrill.delivered", Kind.DELIVERED, {"event": "delivered"}),
    Rule("mandrill.unsubscribe", Kind.UNSUBSCRIBED, {"event": "unsub"}),
    Rule("mandrill.reject", Kind.REJECTED, {"event": "reject"}),
    Rule(
        "mandrill.denylist_added",
        Kind.REJECTED,
        {"type": ("blacklist", "denylist"), "action": "add"},
        note="the echo of an earlier bounce, complaint or unsubscription, or a manual add; reject.reason says which",
    ),
    Rule("mandrill.send", Kind.ACCEPTED, {"event": "send"}, note="Mandrill took the message over; never removes"),
    Rule("mandrill.other", Kind.OTHER, note="open, click, inbound, allowlist, removals from the denylist"),
)

TABLE = Table(RULES, discriminator="event")
