"""Postmark: one JSON object per post, unsigned.

Sources: postmarkapp.com/developer/webhooks (overview, bounce, spam complaint, delivery, subscription change).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from config.settings import Settings
from providers import payload, unsigned
from providers.composed import Composed
from providers.conditions import comparable
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.samples import postmark as samples
from providers.tables.postmark import TABLE

# Record type -> where it has the recipient and the time.
BOUNCE = ("Email", "BouncedAt")
FIELDS = {
    "bounce": BOUNCE,
    "spamcomplaint": BOUNCE,
    "delivery": ("Recipient", "DeliveredAt"),
    "subscriptionchange": ("Recipient", "ChangedAt"),
}
OTHERS = ("Recipient", "ReceivedAt")
DETAILS = {"": ("Type", "SuppressionReason", "Origin", "Description", "Details", "Inactive")}

_classifier = TABLE.ready()


def postmark(secrets: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """Postmark with the credentials `secrets`. Raises ValueError where there is none or an empty one."""
    return unsigned.composed("postmark", secrets, said, samples.sample, keep_local_case=keep_local_case)


def said(item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    """What the one object of a post says. Raises payload.Unreadable where it has no record type."""
    record_type = payload.read_text(item, "RecordType")
    fields = FIELDS.get(comparable(record_type) or "", OTHERS)
    recipient, time = (item.get(name) for name in fields)
    composite = payload.composite(record_type, recipient, item.get("MessageID"), time)
    # Only bounces and complaints have ids; they share one sequence.
    own_id = payload.identifier(item.get("ID")) if fields is BOUNCE else ""
    yield Said(
        verdict=_classifier.judge(item),
        recipient=recipient,
        event_id=own_id or composite,
        occurred_at=payload.moment(time, received_at),
        provider_message_id=payload.identifier(item.get("MessageID")),
        tags=payload.object_in(item.get("Metadata")),
        detail=payload.detail(item | {"Inactive": _inactive(item)}, DETAILS),
    )


def _inactive(item: dict[str, object]) -> str:
    """Whether Postmark stopped sending to the address, for people: the type of a bounce decides, this never does."""
    return "deactivated by Postmark" if item.get("Inactive") is True else ""


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Postmark as `settings` say, or None without its credentials."""
    secrets = settings.providers.postmark_webhook_credentials
    return postmark(secrets, keep_local_case=settings.keep_local_case) if secrets else None


ENTRY = Entry(
    title="Postmark",
    setting="POSTMARK_WEBHOOK_CREDENTIALS",
    proof="password in a header; the body is not signed",
    make=make,
    setup=(
        "Make a password with `openssl rand -hex 24` and set `POSTMARK_WEBHOOK_CREDENTIALS=postmark:<password>`.",
        "In Postmark: your server, a message stream, Webhooks, Add webhook: `https://<your app>/webhooks/postmark`.",
        "Put the user `postmark` and the password under Basic auth credentials; a token in a header works as well.",
        "Tick Delivery, Bounce, Spam Complaint and Subscription Change. Webhooks belong to a stream: repeat for each.",
        "Hard bounces and complaints come twice, as themselves and as subscription changes; the second does no more.",
        "Nothing is signed: who knows the password can remove recipients. While changing it, set both, new one first.",
        "Check: `mailward send-test-event --provider postmark --kind delivered --to you@example.com` answers 200.",
    ),
    tables={"postmark": TABLE},
)
