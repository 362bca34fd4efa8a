"""Resend: one JSON object per post, signed by Svix.

Sources: resend.com/docs/webhooks (event types, bounced, suppressions), resend/resend-openapi and resend/resend-python.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from core.addresses import Address
from core.events import Event, Kind
from providers import outcome, payload, resend_recipient, resend_samples
from providers.base import Answers, Normalised, Request
from providers.conditions import ABSENT, Condition, found
from providers.rules import Classifier, Rule, Verdict
from providers.standard_webhooks import SVIX, StandardWebhooks, id_header, message_id

BOUNCED: dict[str, Condition] = {"type": "email.bounced"}
PERMANENT: dict[str, Condition] = BOUNCED | {"data.bounce.type": "Permanent"}
SUB_TYPE = "data.bounce.subType"

RULES = (
    Rule("resend.complained", Kind.COMPLAINT, {"type": "email.complained"}),
    Rule("resend.permanent_no_mailbox", Kind.HARD_BOUNCE, PERMANENT | {SUB_TYPE: ("General", "NoEmail")}),
    Rule(
        "resend.permanent_on_suppression_list",
        Kind.REJECTED,
        PERMANENT | {SUB_TYPE: ("OnAccountSuppressionList", "OnTenantSuppressionList", "EmailValidationSuppressed")},
        note="nothing was attempted, and the list entry may stem from a complaint or a manual add",
    ),
    Rule(
        "resend.permanent_suppressed",
        Kind.HARD_BOUNCE,
        PERMANENT | {SUB_TYPE: "Suppressed"},
        policy="resend_suppressed_is_hard",
        otherwise=Kind.REJECTED,
        note="listed because of recent hard bounces; off where only fresh attempts may delete",
    ),
    Rule(
        "resend.permanent_not_the_mailbox",
        Kind.SOFT_BOUNCE,
        PERMANENT
        | {
            SUB_TYPE: (
                "MailboxFull",
                "MessageTooLarge",
                "ContentRejected",
                "AttachmentRejected",
                "MessageRejected",
                "Undetermined",
            )
        },
        note="about this message or a full mailbox, not a dead address",
    ),
    Rule("resend.permanent_without_sub_type", Kind.HARD_BOUNCE, PERMANENT | {SUB_TYPE: ABSENT}),
    Rule(
        "resend.permanent_unknown_sub_type",
        Kind.HARD_BOUNCE,
        PERMANENT,
        policy="resend_unknown_permanent_is_hard",
        otherwise=Kind.SOFT_BOUNCE,
        note="a sub-type nobody has documented: so far new ones were reasons of suppression, so the record is kept",
    ),
    Rule(
        "resend.transient",
        Kind.SOFT_BOUNCE,
        BOUNCED | {"data.bounce.type": ("Transient", "Temporary")},
        note="sent after the retries ran out; Temporary stands in the Python SDK only",
    ),
    Rule(
        "resend.bounce_undetermined",
        Kind.SOFT_BOUNCE,
        BOUNCED,
        note="Undetermined, an unknown type, or a payload of 2023 with a message only: never delete on these",
    ),
    Rule("resend.suppressed", Kind.REJECTED, {"type": "email.suppressed"}),
    Rule(
        "resend.suppression_added",
        Kind.REJECTED,
        {"type": "suppression.added"},
        note="the echo of an earlier bounce or complaint, or a manual add",
    ),
    Rule("resend.failed", Kind.REJECTED, {"type": "email.failed"}),
    Rule("resend.delivered", Kind.DELIVERED, {"type": "email.delivered"}),
    Rule("resend.delivery_delayed", Kind.DEFERRED, {"type": "email.delivery_delayed"}),
    Rule("resend.contact_unsubscribed", Kind.UNSUBSCRIBED, {"type": "contact.updated", "data.unsubscribed": True}),
    Rule("resend.sent", Kind.ACCEPTED, {"type": "email.sent"}, note="Resend took the message over; never removes"),
    Rule(
        "resend.other",
        Kind.OTHER,
        note="scheduled, opened, clicked, received, contact.*, domain.*, and what is to come",
    ),
)

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
        self._classifier = Classifier(
            RULES,
            discriminator="type",
            policies={
                "resend_suppressed_is_hard": suppressed_is_hard,
                "resend_unknown_permanent_is_hard": unknown_permanent_is_hard,
            },
        )

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
        verdict = self._classifier.judge(body)
        affected = partial(resend_recipient.affected, body, keep_local_case=self._keep_local_case)
        return outcome.about_one(verdict, affected, partial(self._event, request, body, verdict))

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers: the id stands in no body."""
        return id_header(request.headers)

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> dict[str, str]:
        """See Provider.sign. Raises ValueError where `message_id` holds a blank, comma or dot."""
        return self._scheme.sign(body, message_id, sent_at, SVIX)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """See Provider.sample: Resend has an event of every kind."""
        return json.dumps(resend_samples.sample(kind, recipient, message_id, occurred_at)).encode()

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
