"""Mailjet: a JSON array of events per post where they are grouped, else one bare event; unsigned.

Source: mailjet/api-documentation (guides, Event API).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from config.settings import Settings
from providers import payload, unsigned
from providers.composed import Composed
from providers.conditions import comparable
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.samples import mailjet as samples
from providers.tables.mailjet import TABLE

DETAILS = {"": ("error_related_to", "error", "comment", "source", "smtp_reply")}

_classifier = TABLE.ready()


def mailjet(secrets: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """Mailjet with the credentials `secrets`. Raises ValueError where there is none or an empty one."""
    return unsigned.composed("mailjet", secrets, said, samples.sample, keep_local_case=keep_local_case)


def said(item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    """What one event says. Raises payload.Unreadable where it has no name."""
    name = payload.read_text(item, "event")
    recipient, time = item.get("email"), item.get("time")
    # A number beyond 2^53, which only survives where it never becomes a float.
    message_id = payload.identifier(item.get("MessageID")) or payload.identifier(item.get("Message_GUID"))
    yield Said(
        verdict=_classifier.judge(item | {"hard_bounce": _is_hard(item)}),
        recipient=recipient,
        event_id=payload.composite(name, recipient, message_id, time),
        occurred_at=payload.unix_moment(time, received_at),
        provider_message_id=message_id,
        tags=payload.object_in(item.get("Payload")),
        detail=payload.detail(item, DETAILS),
    )


def _is_hard(item: dict[str, object]) -> bool:
    """Whether `hard_bounce` says so: a boolean in all that is documented, and tolerated as a text or number."""
    stated = item.get("hard_bounce")
    return stated is True or comparable(stated) in {"1", "true"}


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Mailjet as `settings` say, or None without its credentials."""
    secrets = settings.providers.mailjet_webhook_credentials
    return mailjet(secrets, keep_local_case=settings.keep_local_case) if secrets else None


ENTRY = Entry(
    title="Mailjet",
    setting="MAILJET_WEBHOOK_CREDENTIALS",
    proof="password in the webhook's URL; the body is not signed",
    make=make,
    setup=(
        "Make a password with `openssl rand -hex 24` and set `MAILJET_WEBHOOK_CREDENTIALS=mailjet:<password>`.",
        "In Mailjet: Account settings, Event notifications (webhooks).",
        "Give each event `https://mailjet:<password>@<your app>/webhooks/mailjet`: sent, bounce, blocked, spam, unsub.",
        "Grouping events is welcome. A backup URL is worth having: after 24 hours of failures Mailjet stops posting.",
        "Nothing is signed: who knows the URL can remove recipients. While you change it, set both, new one first.",
        "Check: `mailward send-test-event --provider mailjet --kind delivered --to you@example.com` answers 200.",
    ),
    tables={"mailjet": TABLE},
)
