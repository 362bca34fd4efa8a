"""SparkPost (Bird): a JSON array of events per post, each wrapped in the class it belongs to; unsigned.

Sources: SparkPost/developers.sparkpost.com (webhooks.apib), SparkPost/support-docs (webhook-authentication,
webhook-data-streams, post-to-webhook-target-failed).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from config.settings import Settings
from providers import payload, unsigned
from providers.base import Answers
from providers.composed import Composed
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.samples import sparkpost as samples
from providers.tables.sparkpost import TABLE

ANSWERS = Answers(body_limit=4 * 1024 * 1024)  # batches of 350 events and more, each with metadata of the user's
DETAILS = {"": ("bounce_class", "error_code", "reason", "fbtype")}  # raw_reason is the reason with the address in it

_classifier = TABLE.ready()


def sparkpost(secrets: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """SparkPost with the credentials `secrets`. Raises ValueError where there is none or an empty one."""
    return unsigned.composed(
        "sparkpost", secrets, said, samples.sample, keep_local_case=keep_local_case, answers=ANSWERS
    )


def said(item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    """What one element of the array says: nothing where `msys` is empty, as in the ping that creates a webhook.

    Raises payload.Unreadable where there is no `msys`, or something in it is no event.
    """
    classes = item.get("msys")
    if not isinstance(classes, dict):
        raise payload.Unreadable("the item has no msys object")
    for event in classes.values():
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise payload.Unreadable("msys holds something without a type")
        yield _said(event, received_at)


def _said(event: dict[str, object], received_at: datetime) -> Said:
    time, message_id = event.get("timestamp"), event.get("message_id")
    composite = payload.composite(event["type"], event.get("rcpt_to"), message_id, event.get("transmission_id"), time)
    return Said(
        verdict=_classifier.judge(event),
        recipient=_recipient(event),
        event_id=payload.identifier(event.get("event_id")) or composite,
        occurred_at=payload.unix_moment(time, received_at),
        # The id of the transmission is what SparkPost answered when the mail was sent.
        provider_message_id=payload.identifier(event.get("transmission_id")) or payload.identifier(message_id),
        tags=payload.object_in(event.get("rcpt_meta")),
        detail=payload.detail(event, DETAILS),
    )


def _recipient(event: dict[str, object]) -> object:
    """`rcpt_to`, which SparkPost writes in lower case, as `raw_rcpt_to` writes it where that is the same address."""
    recipient, raw = event.get("rcpt_to"), event.get("raw_rcpt_to")
    if recipient is None:
        return raw
    same = isinstance(recipient, str) and isinstance(raw, str) and recipient.lower() == raw.lower()
    return raw if same else recipient


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """SparkPost as `settings` say, or None without its credentials."""
    secrets = settings.providers.sparkpost_webhook_credentials
    return sparkpost(secrets, keep_local_case=settings.keep_local_case) if secrets else None


ENTRY = Entry(
    title="SparkPost (Bird)",
    setting="SPARKPOST_WEBHOOK_CREDENTIALS",
    proof="password in a header; the body is not signed",
    make=make,
    setup=(
        "Make a password with `openssl rand -hex 24` and set `SPARKPOST_WEBHOOK_CREDENTIALS=sparkpost:<password>`.",
        "In SparkPost: Configuration, Webhooks, Create Webhook: `https://<your app>/webhooks/sparkpost`.",
        "Authentication: Basic, user `sparkpost` and the password. SparkPost posts a ping at once, which must succeed.",
        "Events: Injection, Delivery, Bounce, Out of Band, Delay, Spam Complaint, all Rejections and Unsubscribes.",
        "SparkPost tries for 8 hours and then drops a batch; it signs nothing, so keep the password to yourself.",
        "Check: `mailward send-test-event --provider sparkpost --kind delivered --to you@example.com` answers 200.",
    ),
    tables={"sparkpost": TABLE},
)
