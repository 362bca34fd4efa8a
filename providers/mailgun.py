"""Mailgun: one event per post, as JSON or, from its legacy webhooks, as a form; all at one address.

Sources: documentation.mailgun.com, webhook payloads and securing webhooks; mailgun/mailgun-go (events/objects.go).
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from core.events import REMOVING
from providers import items, mailgun_legacy, mailgun_post, outcome, payload
from providers.base import Normalised, Request
from providers.composed import Composed
from providers.conditions import comparable, found
from providers.entry import Entry, Fetch
from providers.items import NO_TAGS, Said
from providers.mailgun_proof import SignedToken
from providers.rules import Verdict
from providers.samples import mailgun as samples
from providers.tables.mailgun import LEGACY_TABLE, TABLE

NAME = "mailgun"
# Mailgun repeats a failed post over 8 hours and does not say whether it signs each anew. What holds a replay back is
# the token, not the age.
WINDOW_S = 12 * 3600
DETAILS = {
    "event-data": ("severity", "reason"),
    "event-data.delivery-status": ("code", "enhanced-code", "bounce-type", "message", "description"),
    "event-data.reject": ("reason", "description"),
}
CLASSIFIER = TABLE.ready()


def mailgun(secrets: Sequence[str], *, tolerance_s: int = 300, keep_local_case: bool = False) -> Composed:
    """The Mailgun provider; `secrets` are HTTP webhook signing keys, `tolerance_s` how far clocks may differ."""
    return Composed(
        name=NAME,
        scheme=SignedToken(secrets, window_s=max(WINDOW_S, tolerance_s), future_s=tolerance_s),
        read=partial(_read, keep_local_case),
        make_sample=samples.sample,
    )


def _read(keep_local_case: bool, request: Request) -> Normalised:
    try:
        post = mailgun_post.read(request.body)
    except payload.Unreadable as error:
        return outcome.parked(outcome.WHOLE_BODY, str(error))
    if not isinstance(post.said.get("event"), str):
        return outcome.parked(outcome.WHOLE_BODY, "the body names no event")
    single_use = f"{NAME}:{payload.identifier(post.proof.get('token'))}"
    said = partial(mailgun_legacy.said if post.is_form else _said, single_use)
    return items.normalised(NAME, lambda _: (post.said,), said, keep_local_case, request)


def _said(single_use: str, data: dict[str, object], received_at: datetime) -> tuple[Said, ...]:
    """What `data`, the member `event-data` of a JSON post, says."""
    verdict = CLASSIFIER.judge(data)
    variables = data.get("user-variables")
    message_id = payload.identifier(found(data, "message.headers.message-id"))
    recipient = _recipient(data, verdict)
    return (
        Said(
            verdict=verdict,
            recipient=recipient,
            event_id=_event_id(data, recipient, message_id),
            occurred_at=payload.unix_moment(data.get("timestamp"), received_at),
            provider_message_id=message_id,
            tags=variables if isinstance(variables, dict) else NO_TAGS,
            detail=payload.detail({"event-data": data}, DETAILS),
            single_use=single_use,
        ),
    )


def _recipient(data: dict[str, object], verdict: Verdict) -> object:
    """`rejected` comes without a recipient; whom the mail was for says nothing about a bounce or a complaint."""
    named = data.get("recipient")
    if named is None and verdict.kind not in REMOVING:
        return found(data, "message.headers.to")
    return named


def _event_id(data: dict[str, object], recipient: object, message_id: str) -> str:
    """Mailgun's ids are unique within a day only, so the event's time belongs to it."""
    time = comparable(data.get("timestamp")) or ""
    if own_id := payload.identifier(data.get("id")):
        return payload.identifier(f"{own_id}@{time}")
    return payload.composite(data.get("event"), recipient, message_id, time)


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Mailgun as `settings` say, or None without its signing keys."""
    secrets = settings.providers.mailgun_signing_keys
    if not secrets:
        return None
    return mailgun(secrets, tolerance_s=settings.signature_tolerance_s, keep_local_case=settings.keep_local_case)


ENTRY = Entry(
    title="Mailgun",
    setting="MAILGUN_SIGNING_KEYS",
    proof="HMAC-SHA256 over time and token, each token good for one event (the event itself is not covered)",
    make=make,
    setup=(
        "In Mailgun, Sending, Webhooks, add `https://<your app>/webhooks/mailgun` for permanent and temporary failures,"
        " spam complaints, unsubscribes and delivered messages; legacy webhooks may post to the same address.",
        "Copy the *HTTP webhook signing key* (no API key) into `MAILGUN_SIGNING_KEYS`; put both during a rotation.",
        "With subaccounts the main account's key is enough: Mailgun signs their events with it too.",
        "Use https only and let no proxy log bodies: the signature does not cover the event. mailward takes one event"
        " per signature, and dead-letters any other that shows it again.",
        "Do not subscribe to opens and clicks: they are only counted, and their signatures are not remembered.",
        "Check: `mailward send-test-event --provider mailgun --kind delivered --to you@example.com` answers 200.",
    ),
    tables={"mailgun": TABLE, "mailgun_legacy": LEGACY_TABLE},
)
