"""Cloudflare Email Sending events, forwarded by a Worker (docs/cloudflare-worker.js) that signs each one.

Cloudflare posts no webhooks: an event subscription fills a queue, and the Worker that reads it adds the signature of
Standard Webhooks. So the proof says "our Worker sent this", and whose account and domain it is about is checked here.
Source: the Cloudflare documentation, "Email Sending events" and "Sync recipient records".
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from core.addresses import Address, NotAnAddress, normalise
from core.events import Event, Kind
from providers import outcome, payload
from providers.base import Answers, Normalised, Post, Request
from providers.conditions import comparable, found
from providers.entry import Entry, Fetch
from providers.rules import Verdict
from providers.samples import cloudflare as samples
from providers.standard_webhooks import WEBHOOK, StandardWebhooks, id_header, message_id
from providers.tables.cloudflare import TABLE

DETAILS = {
    "payload.bounce": ("type", "classification", "reason"),
    "payload.complaint": ("type",),
    "payload.failure": ("reason",),
    "payload.rejection": ("reason", "party", "detail"),
    "payload.delivery": ("smtpStatusCode", "smtpEnhancedStatusCode", "smtpResponse"),
}


class Cloudflare:
    """The Cloudflare provider; `secrets` are shared with the Worker. With an `account_id` or `domains` only events of
    that account and of these sending domains are believed."""

    name = "cloudflare"
    answers = Answers()

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        tolerance_s: int = 300,
        keep_local_case: bool = False,
        account_id: str = "",
        domains: Sequence[str] = (),
    ) -> None:
        self._scheme = StandardWebhooks(secrets, tolerance_s)
        self._keep_local_case = keep_local_case
        self._account_id = account_id
        self._domains = tuple(_domain(one) for one in domains)
        self._classifier = TABLE.ready()

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        return self._scheme.verify(request)

    def normalise(self, request: Request) -> Normalised:
        """See Provider.normalise."""
        try:
            body = payload.read_object(request.body)
        except payload.Unreadable as error:
            return outcome.parked(outcome.WHOLE_BODY, str(error))
        if not isinstance(body.get("type"), str):
            return outcome.parked(outcome.WHOLE_BODY, "the body has no type")
        if objection := self._objection(body):
            return outcome.parked(outcome.FIRST_ITEM, objection)
        verdict = self._classifier.judge(body)
        return outcome.about_one(verdict, partial(self._recipient, body), partial(self._event, request, body, verdict))

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers: the id stands in for a missing payload.eventId."""
        return id_header(request.headers)

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Provider.sign. Raises ValueError where `message_id` holds a blank, comma or dot."""
        return self._scheme.sign(body, message_id, sent_at, WEBHOOK)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """See Provider.sample; `message_id` is the event's id too, and account and domain are the configured ones."""
        domain = self._domains[0] if self._domains else "example.org"
        account_id = self._account_id or "made-up-account"
        return json.dumps(samples.sample(kind, recipient, message_id, occurred_at, account_id, domain)).encode()

    def _objection(self, body: dict[str, object]) -> str:
        """Why this event is not to be believed or understood, or an empty text."""
        version = found(body, "metadata.eventSchemaVersion")
        # A missing version passes: only a version that says otherwise is a reason to doubt fields that are all there.
        if version is not None and comparable(version) != "1":
            return "metadata.eventSchemaVersion is not 1"
        if self._account_id and found(body, "metadata.accountId") != self._account_id:
            return "metadata.accountId is not CLOUDFLARE_ACCOUNT_ID"
        if self._domains and _domain(found(body, "source.domain")) not in self._domains:
            return "source.domain is not one of CLOUDFLARE_DOMAINS"
        return ""

    def _recipient(self, body: dict[str, object]) -> Address:
        recipient = found(body, "payload.recipient")
        if not isinstance(recipient, str):
            raise NotAnAddress("payload.recipient is not a text")
        return normalise(recipient, keep_local_case=self._keep_local_case)

    def _event(self, request: Request, body: dict[str, object], verdict: Verdict, recipient: Address) -> Event:
        ids = (found(body, "payload.eventId"), message_id(request.headers))
        return Event(
            event_id=f"{self.name}:{payload.event_id(ids, request.body)}",
            provider=self.name,
            kind=verdict.kind,
            recipient=recipient.normal,
            recipient_verbatim=recipient.verbatim,
            occurred_at=payload.moment(found(body, "metadata.eventTimestamp"), request.received_at),
            received_at=request.received_at,
            rule=verdict.rule,
            provider_message_id=payload.identifier(found(body, "payload.messageId")),
            detail=payload.detail(body, DETAILS),
        )


def _domain(value: object) -> str:
    return value.strip().lower().removesuffix(".") if isinstance(value, str) else ""


def make(settings: Settings, _fetch: Fetch) -> Cloudflare | None:
    """Cloudflare as `settings` say, or None without its secrets."""
    if not settings.cloudflare_webhook_secrets:
        return None
    return Cloudflare(
        settings.cloudflare_webhook_secrets,
        tolerance_s=settings.signature_tolerance_s,
        keep_local_case=settings.keep_local_case,
        account_id=settings.cloudflare_account_id,
        domains=settings.cloudflare_domains,
    )


ENTRY = Entry(
    title="Cloudflare Email Service (forwarded by a Worker)",
    setting="CLOUDFLARE_WEBHOOK_SECRETS",
    proof="HMAC-SHA256 over id, time and body (Standard Webhooks), made by your Worker",
    make=make,
    setup=(
        'Make a secret: `echo "whsec_$(openssl rand -base64 32)"`; set it as `CLOUDFLARE_WEBHOOK_SECRETS`.',
        "Create a queue, and an event subscription of your sending domain (`email.sending`) that fills it.",
        "Deploy `docs/cloudflare-worker.js` as its consumer, with the secret and the URL `https://<app>/webhooks/cloudflare`.",
        "Set `CLOUDFLARE_ACCOUNT_ID` and `CLOUDFLARE_DOMAINS`, so that events of anybody else are parked.",
        "Or run `python -m consumer cloudflare` instead of a Worker: it pulls the queue itself.",
    ),
    tables={"cloudflare": TABLE},
)
