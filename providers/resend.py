"""Resend: one JSON object per post, signed by Svix.

Sources: resend.com/docs/webhooks (event types, bounced, suppressions), resend/resend-openapi and resend/resend-python.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from config.settings import Settings
from core.addresses import Address
from core.events import Event, Kind
from providers import outcome, payload, resend_recipient
from providers.base import Answers, Normalised, Post, Request
from providers.conditions import found
from providers.entry import Entry, Fetch
from providers.rules import Verdict
from providers.samples import resend as samples
from providers.standard_webhooks import SVIX, StandardWebhooks, id_header, message_id
from providers.tables.resend import TABLE

# diagnosticCode is a list in the OpenAPI file and a text in the Python SDK.
DETAILS = {
    "data.bounce": ("type", "subType", "diagnosticCode", "message"),
    "data.suppressed": ("type", "reason", "diagnosticCode", "message"),
    "data.failed": ("reason",),
    "data": ("origin",),
}


class Resend:
    """The Resend provider; `secrets` are the signing secrets of its webhook, `tolerance_s` the freshness window."""

    name = "resend"
    answers = Answers()

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        tolerance_s: int = 300,
        keep_local_case: bool = False,
        suppressed_is_hard: bool = True,
        unknown_permanent_is_hard: bool = False,
    ) -> None:
        self._scheme = StandardWebhooks(secrets, tolerance_s)
        self._keep_local_case = keep_local_case
        self._classifier = TABLE.ready(
            {
                "resend_suppressed_is_hard": suppressed_is_hard,
                "resend_unknown_permanent_is_hard": unknown_permanent_is_hard,
            }
        )

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        return self._scheme.verify(request)

    def normalise(self, request: Request) -> Normalised:
        """See Provider.normalise."""
        try:
            body = payload.read_event(request.body, "type")
        except payload.Unreadable as error:
            return outcome.parked(outcome.WHOLE_BODY, str(error))
        verdict = self._classifier.judge(body)
        affected = partial(resend_recipient.affected, body, keep_local_case=self._keep_local_case)
        return outcome.about_one(verdict, affected, partial(self._event, request, body, verdict))

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers: the id stands in no body."""
        return id_header(request.headers)

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Provider.sign. Raises ValueError where `message_id` holds a blank, comma or dot."""
        return self._scheme.sign(body, message_id, sent_at, SVIX)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """See Provider.sample: Resend has an event of every kind."""
        return json.dumps(samples.sample(kind, recipient, message_id, occurred_at)).encode()

    def _event(self, request: Request, body: dict[str, object], verdict: Verdict, recipient: Address) -> Event:
        tags = resend_recipient.own_tags(body)
        return Event(
            event_id=f"{self.name}:{payload.event_id((message_id(request.headers),), request.body)}",
            provider=self.name,
            kind=verdict.kind,
            recipient=recipient.normal,
            recipient_verbatim=recipient.verbatim,
            # data.created_at is the message's own time.
            occurred_at=payload.moment(body.get("created_at"), request.received_at),
            received_at=request.received_at,
            rule=verdict.rule,
            provider_message_id=payload.identifier(found(body, "data.email_id")),
            campaign_id=tags["mailward_campaign"],
            recipient_id=tags["mailward_recipient"],
            environment=tags["mailward_env"],
            detail=payload.detail(body, DETAILS),
        )


def make(settings: Settings, _fetch: Fetch) -> Resend | None:
    """Resend as `settings` say, or None without its secrets."""
    if not settings.resend_webhook_secrets:
        return None
    return Resend(
        settings.resend_webhook_secrets,
        tolerance_s=settings.signature_tolerance_s,
        keep_local_case=settings.keep_local_case,
        suppressed_is_hard=settings.resend_suppressed_is_hard,
        unknown_permanent_is_hard=settings.resend_unknown_permanent_is_hard,
    )


ENTRY = Entry(
    title="Resend",
    setting="RESEND_WEBHOOK_SECRETS",
    proof="HMAC-SHA256 over id, time and body (Svix)",
    make=make,
    setup=(
        "In Resend's dashboard, Webhooks, add `https://<your app>/webhooks/resend`.",
        "Choose the events `email.bounced`, `email.complained`, `email.delivered`, `email.failed`, `email.suppressed`.",
        "Copy the signing secret (`whsec_…`) into `RESEND_WEBHOOK_SECRETS`; during a rotation put both, new one first.",
        "Send one recipient per message: Resend does not say which of several bounced, and such an event is parked.",
        "Check: `mailward send-test-event --provider resend --kind delivered --to you@example.com` answers 200.",
    ),
    tables={"resend": TABLE},
)
