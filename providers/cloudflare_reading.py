"""What an Email Sending event of Cloudflare says: the same for one that a Worker forwards and one that we pull.

Whoever can write to the queue can make events, so whose account and domain an event is about is checked here.
Source: the Cloudflare documentation, "Email Sending events" and "Sync recipient records".
"""

from collections.abc import Sequence
from functools import partial

from config.settings import Settings
from core.addresses import Address, NotAnAddress, normalise
from core.events import Event
from providers import outcome, payload
from providers.base import Normalised, Request
from providers.conditions import comparable, found
from providers.rules import Verdict
from providers.standard_webhooks import id_header, message_id
from providers.tables.cloudflare import TABLE

NAME = "cloudflare"
DETAILS = {
    "payload.bounce": ("type", "classification", "reason"),
    "payload.complaint": ("type",),
    "payload.failure": ("reason",),
    "payload.rejection": ("reason", "party", "detail"),
    "payload.delivery": ("smtpStatusCode", "smtpEnhancedStatusCode", "smtpResponse"),
}


class Reading:
    """Reads events, without any proof; with an `account_id` or `domains` only events of that account and of these
    sending domains are believed."""

    name = NAME

    def __init__(self, *, keep_local_case: bool = False, account_id: str = "", domains: Sequence[str] = ()) -> None:
        self.account_id = account_id
        self.domains = tuple(_domain(one) for one in domains)
        self._keep_local_case = keep_local_case
        self._classifier = TABLE.ready()

    def normalise(self, request: Request) -> Normalised:
        """See Provider.normalise."""
        try:
            body = payload.read_event(request.body, "type")
        except payload.Unreadable as error:
            return outcome.parked(outcome.WHOLE_BODY, str(error))
        if objection := self._objection(body):
            return outcome.parked(outcome.FIRST_ITEM, objection)
        verdict = self._classifier.judge(body)
        return outcome.about_one(verdict, partial(self._recipient, body), partial(self._event, request, body, verdict))

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers: the id of a forwarded event stands in for a missing payload.eventId."""
        return id_header(request.headers)

    def _objection(self, body: dict[str, object]) -> str:
        """Why this event is not to be believed or understood, or an empty text."""
        version = found(body, "metadata.eventSchemaVersion")
        # A missing version passes: only a version that says otherwise is a reason to doubt fields that are all there.
        if version is not None and comparable(version) != "1":
            return "metadata.eventSchemaVersion is not 1"
        if self.account_id and found(body, "metadata.accountId") != self.account_id:
            return "metadata.accountId is not CLOUDFLARE_ACCOUNT_ID"
        if self.domains and _domain(found(body, "source.domain")) not in self.domains:
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
            event_id=f"{NAME}:{payload.event_id(ids, request.body)}",
            provider=NAME,
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


def configured(settings: Settings) -> Reading:
    """The reading as `settings` say."""
    return Reading(
        keep_local_case=settings.keep_local_case,
        account_id=settings.cloudflare_account_id,
        domains=settings.cloudflare_domains,
    )
