"""Mailchimp Transactional (Mandrill): a form post whose one field holds a JSON array of up to 1,000 events.

Sources: mailchimp.com/developer/transactional/docs/webhooks and guides/track-respond-activity-webhooks;
mandrill.zendesk.com, articles 205583217, 205583257 and 205583277.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from core.events import Kind
from providers import items, payload
from providers.base import Answers
from providers.composed import Composed
from providers.conditions import found
from providers.entry import Entry, Fetch
from providers.items import NO_TAGS, Said
from providers.rules import Classifier, Verdict
from providers.samples import mandrill as samples
from providers.tables.mandrill import TABLE
from providers.url_form_hmac import UrlFormHmac, fields

NAME = "mandrill"
FIELD = b"mandrill_events"
# 1,000 events of 3 KB, half of whose characters are percent-encoded.
ANSWERS = Answers(body_limit=8 * 1024 * 1024, probes=frozenset({"HEAD"}))

# The dashboard's test button posts a signed event of every type about this address.
TEST_RECIPIENT = "example.webhook@mandrillapp.com"
TEST_EVENT = Verdict(Kind.OTHER, "mandrill.test_button")

DETAILS = {
    "msg": ("state", "bounce_description", "bgtools_code", "diag"),
    "attempt": ("diag",),
    "reject": ("reason", "detail"),
}


def mandrill(keys: Sequence[str], urls: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """The Mandrill provider; `keys` are those of its webhooks, `urls` their addresses exactly as registered.

    Raises ValueError where either is missing or a key is empty.
    """
    read = partial(items.normalised, NAME, _batch, partial(_said, TABLE.ready()), keep_local_case)
    return Composed(NAME, UrlFormHmac(keys, urls), read, samples.sample, ANSWERS)


def _batch(body: bytes) -> list[object]:
    form = fields(body)
    if form is None or FIELD not in form:
        raise payload.Unreadable("the body is not a form with one mandrill_events")
    return payload.read_list(form[FIELD]) if form[FIELD] else []


def _said(classifier: Classifier, item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    if isinstance(item.get("event"), str):
        group, mail = "msg", item.get("_id") or found(item, "msg._id")
        occurrence: tuple[object, ...] = (item["event"], mail, item.get("url"))
    elif isinstance(item.get("type"), str):  # a change of the denylist or allowlist, about no mail
        group, mail = "reject" if found(item, "reject") else "entry", None
        occurrence = (item["type"], item.get("action"))
    else:
        raise payload.Unreadable("the item has neither event nor type")
    recipient, metadata = found(item, f"{group}.email"), found(item, "msg.metadata")
    yield Said(
        verdict=TEST_EVENT if _is_test(recipient) else classifier.judge(_as_spelt_today(item)),
        recipient=recipient,
        event_id=payload.composite(*occurrence, recipient, item.get("ts")),
        occurred_at=payload.unix_moment(item.get("ts"), received_at),
        provider_message_id=payload.identifier(mail),
        tags=metadata if isinstance(metadata, dict) else NO_TAGS,
        detail=payload.detail(item | {"attempt": _last_attempt(item)}, DETAILS),
    )


def _as_spelt_today(item: dict[str, object]) -> dict[str, object]:
    """`item` with the name of its event as it is documented: soft_bounce was once posted as soft-bounce."""
    event = item.get("event")
    return item | {"event": event.replace("-", "_")} if isinstance(event, str) else item


def _is_test(recipient: object) -> bool:
    return isinstance(recipient, str) and recipient.strip().lower() == TEST_RECIPIENT


def _last_attempt(item: dict[str, object]) -> object:
    """The SMTP dialogue that a deferral is about: the newest of those that its message lists."""
    attempts = found(item, "msg.smtp_events")
    return attempts[-1] if isinstance(attempts, list) and attempts else None


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Mandrill as `settings` say, or None without its keys."""
    keys, urls = settings.providers.mandrill_webhook_keys, settings.providers.mandrill_webhook_urls
    if not keys:
        return None
    return mandrill(keys, urls, keep_local_case=settings.keep_local_case)


ENTRY = Entry(
    title="Mailchimp Transactional (Mandrill)",
    setting="MANDRILL_WEBHOOK_KEYS",
    proof="HMAC-SHA1 over the webhook's URL and the form; no time, so old posts can be repeated",
    make=make,
    setup=(
        "Put the public URL, `https://<your app>/webhooks/mandrill`, into `MANDRILL_WEBHOOK_URLS` and, until there is "
        "a key, `openssl rand -hex 16` into `MANDRILL_WEBHOOK_KEYS`: Mandrill asks for a 200 before it shows the key.",
        "In Mandrill, Settings, Webhooks, add that URL, letter for letter: it is part of what is signed.",
        "Choose the events Sent, Delivered, Delayed, Bounced, Soft-Bounced, Marked As Spam, Rejected and Unsubscribed.",
        "Copy the webhook's key into `MANDRILL_WEBHOOK_KEYS`; several webhooks have a key and a URL each: put all.",
        "Behind a proxy nothing changes: only the URLs of the setting count, not what the server sees.",
        "The test button's events (about example.webhook@mandrillapp.com) are counted and do nothing.",
    ),
    tables={NAME: TABLE},
)
