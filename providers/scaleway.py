"""Scaleway Transactional Email: its events come through Scaleway Topics and Events, which speaks the protocol of SNS.

The envelope is that of SNS; hosts and certificates are Scaleway's own, so they have their own pin. Its documentation
gives the host of the certificates, not the path of the signing one: any plain path there is taken, and, as it demands,
the certificate must have been issued by one of its published chain. Sources: Scaleway documentation, "Webhook event
payloads" (Transactional Email), "Verifying webhook signatures" and "How to create and manage subscriptions" (Topics and
Events), which shows the URL that confirms a subscription.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from providers import items, payload
from providers.base import Normalised, Request
from providers.composed import Composed
from providers.conditions import comparable
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.rules import Classifier
from providers.samples.scaleway import sample
from providers.sns import Sns
from providers.sns_certificates import Certificates
from providers.sns_envelope import Notice, Signer
from providers.sns_topics import Pin, Topics
from providers.tables.scaleway import TABLE

_ARN = re.compile(r"arn:scw:sns:([a-z]{2}-[a-z]{3}):[^:]+:[^:]+")
HOST = "https://messaging.s3.fr-par.scw.cloud/"  # of all regions
DETAILS = {"": ("email_response_code", "email_response_message", "blocklist_type", "blocklist_reason")}
UNSIGNED = "the key that signs is Scaleway's alone; instead send a mail to an address of yours that does not exist"


def pin_of(arn: str) -> Pin:
    """The hosts of a topic of Scaleway. Raises ValueError, in words for an operator, for any other ARN."""
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise ValueError(f"SCALEWAY_TOPIC_ARNS holds {arn!r}, which is not the ARN of a topic of Scaleway")
    return Pin(
        re.compile(rf"{re.escape(HOST)}(?:[A-Za-z0-9_-]{{1,64}}/){{0,4}}[A-Za-z0-9_-]{{1,128}}\.(?:crt|pem)"),
        api=f"https://sns.mnq.{parts[1]}.scaleway.com/",
        issuers=f"{HOST}{parts[1]}/sns/sns-trust-chain.pem",
    )


def composed(
    topic_arns: Sequence[str],
    fetch: Fetch,
    *,
    dropped_is_hard: bool = False,
    keep_local_case: bool = False,
    signer: Signer | None = None,
) -> Composed:
    """Scaleway through `topic_arns`, with certificates through `fetch`; `signer` is for tests.

    Raises ValueError, in words for an operator, where there is no topic or one that is not Scaleway's.
    """
    sns = Sns(Topics(topic_arns, pin_of), Certificates(fetch), signer=signer, unsigned=UNSIGNED)
    said = partial(_said, TABLE.ready({"scaleway_dropped_is_hard": dropped_is_hard}))

    def read(request: Request) -> Normalised:
        return sns.read(
            request,
            lambda notice: items.normalised("scaleway", notice.event, partial(said, notice), keep_local_case, request),
        )

    return Composed("scaleway", sns, read, sample)


def _said(classifier: Classifier, notice: Notice, event: dict[str, object], received_at: datetime) -> Iterator[Said]:
    payload.read_text(event, "type", "the event")
    own_id = payload.identifier(event.get("id")) or payload.identifier(notice.message_id)
    yield Said(
        verdict=classifier.judge(event),
        recipient=event.get("email_to"),
        event_id=own_id or payload.composite(*map(event.get, ("type", "email_to", "email_id", "created_at"))),
        occurred_at=payload.moment(event.get("created_at") or notice.published_at, received_at),
        provider_message_id=payload.identifier(event.get("email_id")),
        tags=_tags(event.get("email_headers")),
        detail=payload.detail(event, DETAILS),
    )


def _tags(headers: object) -> Mapping[str, object]:
    """Our own tags, which the mail has as headers: X-Mailward-Campaign holds mailward_campaign."""
    pairs = [one for one in headers if isinstance(one, dict)] if isinstance(headers, list) else []
    named = ((comparable(one.get("key")) or "", one.get("value")) for one in pairs)
    return {name.removeprefix("x-").replace("-", "_"): value for name, value in named if name.startswith("x-mailward-")}


def make(settings: Settings, fetch: Fetch, signer: Signer | None = None) -> Composed | None:
    """Scaleway as `settings` say, or None without its topics; `signer` is for tests."""
    if not settings.providers.scaleway_topic_arns:
        return None
    return composed(
        settings.providers.scaleway_topic_arns,
        fetch,
        dropped_is_hard=settings.providers.scaleway_dropped_is_hard,
        keep_local_case=settings.keep_local_case,
        signer=signer,
    )


ENTRY = Entry(
    title="Scaleway Transactional Email",
    setting="SCALEWAY_TOPIC_ARNS",
    proof="RSA signature of the SNS envelope, the topic being listed and the certificate of Scaleway's chain",
    make=make,
    setup=(
        "Create a topic in Topics and Events; put its ARN (`arn:scw:sns:…`) into `SCALEWAY_TOPIC_ARNS` and restart.",
        "Subscribe `https://<your app>/webhooks/scaleway` to it (HTTPS); mailward confirms the subscription itself.",
        "In Transactional Email, add a webhook of your domain for that topic, with all `email_…` events.",
        "Complaints are not told apart from the verdict of a filter (`email_spam`), so none removes anybody.",
        "`email_dropped` keeps the record; with `SCALEWAY_DROPPED_IS_HARD=true` it removes it.",
    ),
    tables={"scaleway": TABLE},
)
