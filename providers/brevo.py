"""Brevo (formerly Sendinblue): one JSON object per post, or an array of them; unsigned.

Sources: developers.brevo.com/docs (transactional webhooks, batch webhooks, retry mechanism), and the captured payloads
in django-anymail's tests. How a batch is wrapped is documented nowhere: what is no array or bare event is parked.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from config.settings import Settings
from providers import payload, unsigned
from providers.base import Answers
from providers.composed import Composed
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.samples import brevo as samples
from providers.tables.brevo import TABLE

# Brevo repeats a post that it could not deliver or that was answered 429; after any other answer it forgets the event.
ANSWERS = Answers(busy_status=429)
# UTC, in milliseconds and in seconds; `date` and `ts` follow the time zone of the account.
TIMES = ("ts_epoch", "ts_event")
DETAILS = {"": ("event", "reason")}

_classifier = TABLE.ready()


def brevo(secrets: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """Brevo with the credentials `secrets`. Raises ValueError where there is none or an empty one."""
    return unsigned.composed("brevo", secrets, said, samples.sample, keep_local_case=keep_local_case, answers=ANSWERS)


def said(item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    """What one event says. Raises payload.Unreadable where it has no name.

    Its `id` is that of the webhook or the account, the same in every post, so the event's own is made of its parts.
    """
    name = payload.read_text(item, "event")
    recipient, message_id = item.get("email"), item.get("message-id")
    time = next((value for key in TIMES if (value := item.get(key))), None)
    yield Said(
        verdict=_classifier.judge(item),
        recipient=recipient,
        event_id=payload.composite(name, recipient, message_id, time or item.get("date")),
        occurred_at=payload.unix_moment(time, received_at),
        provider_message_id=payload.identifier(message_id),
        tags=payload.object_in(item.get("X-Mailin-custom")),
        detail=payload.detail(item, DETAILS),
    )


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Brevo as `settings` say, or None without its credentials."""
    secrets = settings.providers.brevo_webhook_credentials
    return brevo(secrets, keep_local_case=settings.keep_local_case) if secrets else None


ENTRY = Entry(
    title="Brevo",
    setting="BREVO_WEBHOOK_CREDENTIALS",
    proof="token or password in a header; the body is not signed",
    make=make,
    setup=(
        "Make a token with `openssl rand -hex 24` and set `BREVO_WEBHOOK_CREDENTIALS=<token>`.",
        "In Brevo: Transactional, Settings, Webhook, Add a new webhook: `https://<your app>/webhooks/brevo`.",
        "Authentication: Token, with the same value. Or `brevo:<password>@` before the host, and that in the setting.",
        "Events: sent, delivered, deferred, soft and hard bounces, invalid email, spam, unsubscribed, blocked, error.",
        "A post with a wrong token is lost for good: put a new token into the setting first, beside the old one.",
        "Metadata come back from the header `X-Mailin-custom` as JSON; the tags of a mail name nobody.",
        "Check: `mailward send-test-event --provider brevo --kind delivered --to you@example.com` answers 200.",
    ),
    tables={"brevo": TABLE},
)
