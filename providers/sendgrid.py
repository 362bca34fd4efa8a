"""Twilio SendGrid's Event Webhook: a JSON array of events per post, signed with ECDSA.

Sources: twilio.com/docs/sendgrid/for-developers/tracking-events (event, getting started with the Event Webhook and its
security features), sendgrid/sendgrid-python and the archived sendgrid/docs.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from core.events import Kind
from providers import items, payload
from providers.composed import Composed
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.public_keys import PrivateKey, read_key, read_private_key
from providers.rules import Classifier, Verdict
from providers.samples import sendgrid as samples
from providers.tables.sendgrid import TABLE
from providers.timed_ecdsa import TimedEcdsa

NAME = "sendgrid"
SETTING = "SENDGRID_WEBHOOK_KEYS"
SIGNATURE = "x-twilio-email-event-webhook-signature"
TIMESTAMP = "x-twilio-email-event-webhook-timestamp"
# SendGrid retries for 24 h and does not say whether it renews the timestamp: a shorter window might lose events.
PAST_S, FUTURE_S = 25 * 3600, 300

# The events of the dashboard's "Test your integration" are about this address. They are signed with the real key and
# would otherwise pass for genuine bounces and complaints.
TEST_RECIPIENT = "example@test.com"
TEST_EVENT = Verdict(Kind.OTHER, "sendgrid.test_integration")

DETAILS = {"event": ("type", "bounce_classification", "status", "reason", "response", "attempt")}


def sendgrid(keys: Sequence[str], private_key: Callable[[], PrivateKey], *, keep_local_case: bool = False) -> Composed:
    """The SendGrid provider; `keys` are the verification keys of its webhooks, `private_key` makes posts for tests.

    Raises ValueError where there is no key or a malformed one.
    """
    scheme = TimedEcdsa(
        [read_key(key) for key in keys],
        private_key,
        signature_header=SIGNATURE,
        timestamp_header=TIMESTAMP,
        past_s=PAST_S,
        future_s=FUTURE_S,
    )
    read = partial(items.normalised, NAME, payload.read_list, partial(_said, TABLE.ready()), keep_local_case)
    return Composed(NAME, scheme, read, samples.sample)


def _said(classifier: Classifier, item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    payload.read_text(item, "event")
    yield Said(
        verdict=TEST_EVENT if _is_test(item) else classifier.judge(item),
        recipient=item.get("email"),
        event_id=_event_id(item),
        occurred_at=payload.unix_moment(item.get("timestamp"), received_at),
        provider_message_id=_message_id(item),
        tags=item,  # SendGrid writes custom arguments between the event's own fields
        detail=payload.detail({"event": item}, DETAILS),
    )


def _is_test(item: dict[str, object]) -> bool:
    email = item.get("email")
    return isinstance(email, str) and email.strip().lower() == TEST_RECIPIENT


def _event_id(item: dict[str, object]) -> str:
    own_id = payload.identifier(item.get("sg_event_id"))
    mail = item.get("sg_message_id") or item.get("smtp-id")
    return own_id or payload.composite(item.get("event"), item.get("email"), mail, item.get("timestamp"))


def _message_id(item: dict[str, object]) -> str:
    """The X-Message-Id of the send; of an asynchronous bounce, which has no sg_message_id, the smtp-id."""
    written = item.get("sg_message_id")
    sent_as = written.partition(".")[0] if isinstance(written, str) else ""
    return payload.identifier(sent_as or item.get("smtp-id"))


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """SendGrid as `settings` say, or None without its keys. Raises ValueError for a key that is none."""
    if not settings.providers.sendgrid_webhook_keys:
        return None
    private_key = partial(read_private_key, settings.providers.test_private_key)
    try:
        return sendgrid(settings.providers.sendgrid_webhook_keys, private_key, keep_local_case=settings.keep_local_case)
    except ValueError as error:
        raise ValueError(f"{SETTING} {error}") from None


ENTRY = Entry(
    title="Twilio SendGrid",
    setting=SETTING,
    proof="ECDSA (P-256, SHA-256) over time and body, at most 25 hours old",
    make=make,
    setup=(
        "In SendGrid, Settings, Mail Settings, Event Webhooks, add `https://<your app>/webhooks/sendgrid`.",
        "Choose Processed, Deferred, Delivered, Bounced, Dropped, Spam Reports, Unsubscribed and Group Unsubscribes.",
        "Switch on Signed Event Webhook (it is off by default) and copy the verification key into "
        "`SENDGRID_WEBHOOK_KEYS`; several webhooks have a key each: put all of them, separated by commas.",
        "Test your integration answers 200 and does nothing: events about example@test.com are only counted.",
        "`mailward send-test-event` needs a key pair of your own: the public half in `SENDGRID_WEBHOOK_KEYS`, the path "
        "of the private one (PEM, P-256) in `TEST_PRIVATE_KEY`; SendGrid keeps its own private key.",
        "A new key replaces the old one at once: put it here within a day, while SendGrid repeats what was refused.",
    ),
    tables={NAME: TABLE},
)
