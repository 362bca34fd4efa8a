"""Unisender Go (UniOne): up to 100 events per post, or one flat event, with an MD5 made with the API key in the body.

Sources: godocs.unisender.ru/web-api-ref#callback-format, docs.unione.io, django-anymail's webhooks/unisender_go.py.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from providers import items, payload
from providers.base import Answers
from providers.composed import Composed
from providers.conditions import comparable
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.rules import Classifier
from providers.samples import unisender_go as samples
from providers.spliced_md5 import SplicedMd5
from providers.tables.unisender_go import TABLE

NAME = "unisender_go"
BATCH = "events_by_user"
STATUS_EVENT = "transactional_email_status"  # the other one, transactional_spam_block, is about a receiving domain
# Unisender Go gives up at 3 s, and switches a webhook on once a GET was answered with 200.
ANSWERS = Answers(deadline_s=2.0, probes=frozenset({"GET"}))

DETAILS = {"delivery_info": ("delivery_status", "destination_response"), "": ("comment",)}


def unisender_go(keys: Sequence[str], *, keep_local_case: bool = False) -> Composed:
    """The Unisender Go provider; `keys` are the API keys of the account or project that its webhooks belong to.

    Raises ValueError where there is none or an empty one.
    """
    read = partial(items.normalised, NAME, _batch, partial(_said, TABLE.ready()), keep_local_case)
    return Composed(NAME, SplicedMd5(keys), read, samples.sample, ANSWERS)


def _batch(body: bytes) -> list[object]:
    post = payload.read_object(body)
    if BATCH not in post:
        return [post]
    users = [] if post[BATCH] is None else post[BATCH]
    if not isinstance(users, list):
        raise payload.Unreadable(f"{BATCH} is not a list")
    return [event for user in users for event in _events(user)]


def _events(user: object) -> list[object]:
    events = user.get("events") if isinstance(user, dict) else None
    return events if isinstance(events, list) else [None]  # parked, with its place among the items


def _said(classifier: Classifier, item: dict[str, object], received_at: datetime) -> Iterator[Said]:
    data = item.get("event_data", item)
    if not isinstance(data, dict):
        raise payload.Unreadable("the event has no event_data")
    name = item.get("event_name")
    if name is not None and not isinstance(name, str):
        raise payload.Unreadable("the event_name is not a text")
    if comparable(name) not in (None, STATUS_EVENT):
        data = {}
    else:
        payload.read_text(data, "status", "the event")
    status, recipient, job, moment = (data.get(name) for name in ("status", "email", "job_id", "event_time"))
    yield Said(
        verdict=classifier.judge(data),
        recipient=recipient,
        event_id=payload.composite(status, recipient, job, moment),
        occurred_at=payload.moment(moment, received_at),
        provider_message_id=payload.identifier(job),
        tags=payload.object_in(data.get("metadata")),
        detail=payload.detail(data, DETAILS),
    )


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Unisender Go as `settings` say, or None without its keys."""
    if not settings.providers.unisender_go_api_keys:
        return None
    return unisender_go(settings.providers.unisender_go_api_keys, keep_local_case=settings.keep_local_case)


ENTRY = Entry(
    title="Unisender Go (UniOne)",
    setting="UNISENDER_GO_API_KEYS",
    proof="MD5 over the body and the API key; no time, so old posts can be repeated",
    make=make,
    setup=(
        "Set `UNISENDER_GO_API_KEYS` first: the API key of the account, or of the project that the webhook is for.",
        "In Unisender Go, Webhooks, add `https://<your app>/webhooks/unisender_go`, which it tries out with a GET.",
        "Event format `json_post`: those of `json_post_compressed` are refused. Single events or batches, as you like.",
        "Choose sent, delivered, soft_bounced, hard_bounced, unsubscribed and spam; spam_block is only counted.",
        "MD5 is a weak proof and the API key can send mail: keep it secret, and admit only Unisender's addresses.",
        "Metadata find an event's campaign again: `mailward_env`, `mailward_campaign`, `mailward_recipient`.",
    ),
    tables={NAME: TABLE},
)
