"""Bodies as Postmark posts them, one for each kind there is, with made-up texts."""

import json
import zlib
from datetime import datetime

from core.events import Kind

# kind -> (record type, what it adds)
SAMPLES: dict[Kind, tuple[str, dict[str, object]]] = {
    Kind.DELIVERED: ("Delivery", {"Details": "smtp;250 2.0.0 OK"}),
    Kind.DEFERRED: ("Bounce", {"Type": "Transient", "TypeCode": 2, "Details": "smtp;451 4.7.1 greylisted"}),
    Kind.SOFT_BOUNCE: ("Bounce", {"Type": "SoftBounce", "TypeCode": 4096, "Details": "smtp;452 4.2.2 mailbox full"}),
    Kind.HARD_BOUNCE: (
        "Bounce",
        {"Type": "HardBounce", "TypeCode": 1, "Details": "smtp;550 5.1.1 no such user", "Inactive": True},
    ),
    Kind.COMPLAINT: ("SpamComplaint", {"Type": "SpamComplaint", "TypeCode": 100001, "Inactive": True}),
    Kind.UNSUBSCRIBED: (
        "SubscriptionChange",
        {"Origin": "Recipient", "SuppressSending": True, "SuppressionReason": "ManualSuppression"},
    ),
    Kind.REJECTED: (
        "Bounce",
        {"Type": "ManuallyDeactivated", "TypeCode": 100002, "Details": "The address is inactive.", "Inactive": True},
    ),
    Kind.OTHER: ("Open", {"FirstOpen": True, "UserAgent": "made up"}),
}
TIMES = {"Delivery": "DeliveredAt", "SubscriptionChange": "ChangedAt", "Open": "ReceivedAt"}


def sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    """The body of `kind` about `recipient`; `message_id` becomes the mail's. Raises ValueError for other kinds."""
    if kind not in SAMPLES:
        raise ValueError(f"Postmark has no event for {kind}; it has {', '.join(sorted(SAMPLES))}")
    record_type, extra = SAMPLES[kind]
    moment = occurred_at.isoformat()
    body: dict[str, object] = {"RecordType": record_type, "MessageStream": "outbound", "MessageID": message_id}
    if record_type in TIMES:
        about: dict[str, object] = {"Recipient": recipient, TIMES[record_type]: moment}
    else:
        about = {"ID": zlib.crc32(message_id.encode()), "Email": recipient, "BouncedAt": moment}
    return json.dumps(body | about | extra).encode()
