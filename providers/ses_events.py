"""Whom an event of Amazon SES is about, and what it says of each: several recipients may stand in one event.

Acted upon are only the recipients in the event's own list, never `mail.destination`, which names everybody who got the
mail. Sources: Amazon SES Developer Guide, "Amazon SNS notification contents" and "Contents of event data".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from providers import items, payload
from providers.base import Normalised, Request
from providers.conditions import comparable, found
from providers.items import Said
from providers.rules import Classifier
from providers.sns_envelope import Notice

# What SES publishes, once, when event publishing is switched on. It is no JSON.
VALIDATED = b"successfully validated sns topic"
# type, in lower case → the object of the event, and the name of its list of recipients
LISTS = {
    "bounce": ("bounce", "bouncedRecipients"),
    "complaint": ("complaint", "complainedRecipients"),
    "delivery": ("delivery", "recipients"),
    "deliverydelay": ("deliveryDelay", "delayedRecipients"),
}
DETAILS = {
    "bounce": ("bounceType", "bounceSubType"),
    "complaint": ("complaintFeedbackType", "complaintSubType"),
    "$recipient": ("action", "status", "diagnosticCode"),
    "delivery": ("smtpResponse",),
    "deliveryDelay": ("delayType",),
}


@dataclass(frozen=True, slots=True)
class SesEvents:
    """Reads what SES published.

    A complaint that lists several recipients is one of theirs, and nobody knows whose (mailbox providers hide it, and
    SES lists everybody at that domain): it is parked, or is all of theirs with `shared_complaint_removes`.
    """

    classifier: Classifier
    shared_complaint_removes: bool
    keep_local_case: bool

    def read(self, request: Request, notice: Notice) -> Normalised:
        """What `notice` says. Never raises."""
        if notice.message.lstrip().lower().startswith(VALIDATED):
            return Normalised()
        return items.normalised("ses", notice.event, partial(self._said, notice), self.keep_local_case, request)

    def _said(self, notice: Notice, event: dict[str, object], received_at: datetime) -> Iterator[Said]:
        event_type = event.get("eventType") or event.get("notificationType")
        if not event_type and ("bounce" in event or "complaint" in event):
            raise payload.Unreadable("neither eventType nor notificationType says what the event is")
        part, list_name = LISTS.get(comparable(event_type) or "", ("", ""))
        recipients = self._recipients(part, found(event, f"{part}.{list_name}"))
        mail_id, moment = found(event, "mail.messageId"), found(event, f"{part}.timestamp")
        own_id = _own_id(event, part, notice) or payload.composite(part, _address(recipients[0]), mail_id, moment)
        for position, recipient in enumerate(recipients):
            judged = event | {"$type": event_type, "$recipient": recipient}
            yield Said(
                verdict=self.classifier.judge(judged),
                recipient=_address(recipient),
                event_id=own_id if len(recipients) == 1 else _one_of_several(own_id, recipient, position),
                occurred_at=payload.moment(moment or notice.published_at, received_at),
                provider_message_id=payload.identifier(mail_id),
                tags=_tags(found(event, "mail.tags")),
                detail=payload.detail(judged, DETAILS),
            )

    def _recipients(self, part: str, entries: object) -> list[object]:
        """Those to judge; a single None where nobody is named, the whole list as one where it cannot be told apart."""
        if not isinstance(entries, list) or not entries:
            return [None]
        if part == "complaint" and len(entries) > 1 and not self.shared_complaint_removes:
            return [{"emailAddress": entries}]
        # Only deliveries list plain addresses: elsewhere, what is no object says nothing of anybody.
        return entries if part == "delivery" else [one if isinstance(one, dict) else None for one in entries]


def _address(recipient: object) -> object:
    return recipient.get("emailAddress") if isinstance(recipient, dict) else recipient


def _own_id(event: dict[str, object], part: str, notice: Notice) -> str:
    """The feedbackId where there is one: what both mechanisms tell has the same in both, but two MessageIds."""
    return payload.identifier(found(event, f"{part}.feedbackId")) or payload.identifier(notice.message_id)


def _one_of_several(own_id: str, recipient: object, position: int) -> str:
    address = _address(recipient)
    return payload.identifier(f"{own_id}:{address if isinstance(address, str) else position}")


def _tags(tags: object) -> Mapping[str, object]:
    """Our own tags; every value is a list, and ours have one member."""
    if not isinstance(tags, dict):
        return items.NO_TAGS
    ours = ((name, value) for name, value in tags.items() if name.startswith("mailward_"))
    return {name: value[0] for name, value in ours if isinstance(value, list) and len(value) == 1}
