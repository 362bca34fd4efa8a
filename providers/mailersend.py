"""MailerSend: one event per post, signed with HMAC-SHA256; the lighter payload of 2025 and the one before it.

Sources: developers.mailersend.com/api/v1/account/webhooks, mailersend.com/whats-new/webhooks-v2, django-anymail's
webhooks/mailersend.py.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from providers import items, payload, tag_texts
from providers.base import PUBLIC_TEST, Answers, ProofRefused, Request
from providers.composed import Composed
from providers.conditions import found
from providers.entry import Entry, Fetch
from providers.hmac_body import HmacBody
from providers.items import Said
from providers.rules import Classifier
from providers.samples import mailersend as samples
from providers.tables.mailersend import TABLE

NAME = "mailersend"
SETTING = "MAILERSEND_WEBHOOK_SECRETS"
ANSWERS = Answers(deadline_s=2.0)  # MailerSend gives up at 3 s
PING = "webhook.test"
# MailerSend signs its pings with this, and prints it in its documentation: whoever signs with it proves nothing.
PUBLIC_SECRET = "test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G"  # noqa: S105

# In the order of the payloads' age: since 2025 the address is a text, under either name.
RECIPIENTS = ("data.email.recipient.email", "data.recipient", "data.email")

DETAILS = {
    "data.meta": ("bounce_type", "bounce_code", "bounce_reason", "unsubscribe_reason"),
    "data.morph": ("reason", "readable_reason"),
}


def mailersend(secrets: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """The MailerSend provider; `secrets` are the signing secrets of its webhooks.

    Raises ValueError where there is none, an empty one, or the public one of MailerSend's pings.
    """
    if PUBLIC_SECRET in secrets:
        raise ValueError("holds the secret of MailerSend's test pings, which everybody knows")
    read = partial(items.normalised, NAME, _batch, partial(_said, TABLE.ready()), keep_local_case)
    return Composed(NAME, _Scheme("signature", secrets), read, samples.sample, ANSWERS)


class _Scheme(HmacBody):
    """HmacBody, but MailerSend's ping may carry the public signature: without a 2xx for it no webhook can be saved,
    and only then there is a secret. A ping says nothing, so nothing can come of a forged one."""

    def verify(self, request: Request) -> str:
        """See Scheme.verify."""
        try:
            return super().verify(request)
        except ProofRefused:
            if not _is_ping(request.body):
                raise
        HmacBody("signature", (PUBLIC_SECRET,)).verify(request)
        return PUBLIC_TEST


def _is_ping(body: bytes) -> bool:
    try:
        return payload.read_object(body).get("type") == PING
    except payload.Unreadable:
        return False


def _batch(body: bytes) -> list[object]:
    event = payload.read_event(body, "type")
    return [] if event["type"] == PING else [event]


def _said(classifier: Classifier, body: dict[str, object], received_at: datetime) -> Iterator[Said]:
    recipient = next((one for path in RECIPIENTS if isinstance(one := found(body, path), str)), None)
    message = found(body, "data.message_id") or found(body, "data.email.message.id")
    moment = found(body, "data.created_at") or body.get("created_at")
    own_id = payload.identifier(found(body, "data.id"))
    yield Said(
        verdict=classifier.judge(body),
        recipient=recipient,
        event_id=own_id or payload.composite(body["type"], recipient, message, moment),
        occurred_at=payload.moment(moment, received_at),
        provider_message_id=payload.identifier(message),
        tags=tag_texts.named(found(body, "data.tags") or found(body, "data.email.tags")),
        detail=payload.detail(body, DETAILS),
    )


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """MailerSend as `settings` say, or None without its secrets. Raises ValueError for the public one."""
    if not settings.providers.mailersend_webhook_secrets:
        return None
    try:
        return mailersend(settings.providers.mailersend_webhook_secrets, keep_local_case=settings.keep_local_case)
    except ValueError as error:
        raise ValueError(f"{SETTING} {error}") from None


ENTRY = Entry(
    title="MailerSend",
    setting=SETTING,
    proof="HMAC-SHA256 over the body; no time, so old posts can be repeated",
    make=make,
    setup=(
        "In MailerSend, Domains, Manage, Webhooks, add `https://<your app>/webhooks/mailersend`.",
        "MailerSend saves it only once its ping is answered 200, before there is a secret: set "
        "`MAILERSEND_WEBHOOK_SECRETS` to any long random text first, then save, then put the real one in its place.",
        "Choose sent, delivered, soft and hard bounced, deferred, unsubscribed and spam complaint; version 2 or 1.",
        "Copy the signing secret into the setting; several webhooks have one each: put all of them. "
        "The secrets of inbound routes are others.",
        "MailerSend waits 3 s and pauses a webhook after 20 failures within a day: look at its log after an outage.",
        "Tags find an event's campaign again: `mailward_env=…`, `mailward_campaign=…` and `mailward_recipient=…`.",
    ),
    tables={NAME: TABLE},
)
