"""Mailtrap: up to 500 events per post, as one JSON object or as JSON Lines, signed with HMAC-SHA256.

Sources: mailtrap/mailtrap-docs (documentation/email-api-smtp/webhooks.md), mailtrap/mailtrap-openapi, django-anymail's
webhooks/mailtrap.py.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from providers import items, payload
from providers.composed import Composed
from providers.entry import Entry, Fetch
from providers.hmac_body import HmacBody
from providers.items import Said
from providers.rules import Classifier
from providers.samples import mailtrap as samples
from providers.tables.mailtrap import TABLE

NAME = "mailtrap"

DETAILS = {"": ("bounce_category", "response_code", "response", "reason")}


def mailtrap(secrets: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """The Mailtrap provider; `secrets` are the signature secrets of its webhooks, used as the texts they are.

    Raises ValueError where there is none or an empty one.
    """
    read = partial(items.normalised, NAME, _batch, partial(_said, TABLE.ready()), keep_local_case)
    return Composed(NAME, HmacBody("mailtrap-signature", secrets), read, samples.sample)


def _batch(body: bytes) -> list[object]:
    """The events of `body`. Its shape decides, not its content type, which a proxy may change. Raises Unreadable."""
    try:
        whole = payload.read_list(body)
    except payload.Unreadable:
        lines = [_line(line) for line in body.split(b"\n") if line.strip()]
        if len(lines) < 2 or all(line is None for line in lines):
            raise
        return lines
    first = whole[0] if len(whole) == 1 else None
    if not isinstance(first, dict) or "events" not in first:
        return whole
    events = [] if first["events"] is None else first["events"]
    if not isinstance(events, list):
        raise payload.Unreadable("events is not a list")
    return events


def _line(line: bytes) -> object:
    """One event of JSON Lines, None where it cannot be read: that parks it alone."""
    try:
        return payload.read_object(line)
    except payload.Unreadable:
        return None


def _said(classifier: Classifier, item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    event = payload.read_text(item, "event")
    message, moment, variables = item.get("message_id"), item.get("timestamp"), item.get("custom_variables")
    own_id = payload.identifier(item.get("event_id"))
    yield Said(
        verdict=classifier.judge(item),
        recipient=item.get("email"),
        event_id=own_id or payload.composite(event, item.get("email"), message, moment),
        occurred_at=payload.unix_moment(moment, received_at),
        provider_message_id=payload.identifier(message),
        tags=payload.object_in(variables),
        detail=payload.detail(item, DETAILS),
    )


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Mailtrap as `settings` say, or None without its secrets."""
    if not settings.providers.mailtrap_webhook_secrets:
        return None
    return mailtrap(settings.providers.mailtrap_webhook_secrets, keep_local_case=settings.keep_local_case)


ENTRY = Entry(
    title="Mailtrap",
    setting="MAILTRAP_WEBHOOK_SECRETS",
    proof="HMAC-SHA256 over the body; no time, so old posts can be repeated",
    make=make,
    setup=(
        "In Mailtrap, Settings, Webhooks, create `https://<your app>/webhooks/mailtrap`, as JSON or JSON Lines.",
        "Choose Email Sending, your stream and domain, and Delivery, Bounce, Soft Bounce, Spam Complaint, Unsubscribe, "
        "Reject and Suspension; each stream has a webhook of its own.",
        "Copy the signature secret, as it is, into `MAILTRAP_WEBHOOK_SECRETS`; put those of all webhooks.",
        "A reset of the secret takes effect at once: put the new one beside the old one before you need it, or let "
        "Mailtrap's retries (every 5 minutes, 40 times) bridge the change.",
        "Custom variables find an event's campaign again: `mailward_env`, `mailward_campaign`, `mailward_recipient`.",
    ),
    tables={NAME: TABLE},
)
