"""Evidence in the bodies of providers that post one event at a time."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from bench.fuzz.reading import at, form, is_bad_address, multipart, objects, one_of, read
from core.events import Kind

Stated: TypeAlias = Iterator[tuple[Kind, Any]]
"""A kind, and whatever stands where the body should name the affected address."""

HARD, COMPLAINT = Kind.HARD_BOUNCE, Kind.COMPLAINT
# SES, Permanent: no such mailbox; and listed by SES because of recent hard bounces, which removes by default.
DEAD = ("general", "noemail", "suppressed")
SUPPRESSED_BEFORE = ("onaccountsuppressionlist", "ontenantsuppressionlist")


def resend(body: bytes) -> Stated:
    """Of a mail to several, only whom our own tag names: Resend does not say whose the event is."""
    event = read(body)
    everybody = [one for name in ("to", "cc", "bcc") for one in _listed(at(event, "data", name))]
    tag = _tag(at(event, "data", "tags"), "mailward_to")
    bounce = at(event, "data", "bounce")
    is_permanent = one_of(at(bounce, "type"), "permanent")
    is_dead = at(bounce, "subType") is None or one_of(at(bounce, "subType"), *DEAD)
    for one in everybody if len(everybody) == 1 else [one for one in everybody if tag and _digest(one) == tag]:
        if one_of(at(event, "type"), "email.complained"):
            yield COMPLAINT, one
        if one_of(at(event, "type"), "email.bounced") and is_permanent and is_dead:
            yield HARD, one


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _tag(tags: Any, name: str) -> Any:
    if isinstance(tags, list):
        return next((one.get("value") for one in reversed(objects(tags)) if one.get("name") == name), None)
    return at(tags, name)


def _digest(written: Any) -> str:
    if not isinstance(written, str):
        return ""
    named = re.search(r"<([^<>]*)>\s*$", written)
    return hashlib.sha256((named[1] if named else written).strip().lower().encode(errors="replace")).hexdigest()[:32]


def cloudflare(body: bytes) -> Stated:
    """Fields of another version of the schema may mean something else."""
    event = read(body)
    kind, about = at(event, "type"), at(event, "payload", "recipient")
    if at(event, "metadata", "eventSchemaVersion") is not None and not one_of(
        at(event, "metadata", "eventSchemaVersion"), "1"
    ):
        return
    if one_of(kind, "cf.email.sending.message.complained"):
        yield COMPLAINT, about
    if one_of(kind, "cf.email.sending.message.bounced") and one_of(at(event, "payload", "bounce", "type"), "hard"):
        yield HARD, about


def ses(body: bytes) -> Stated:
    """Never `mail.destination`; a complaint that lists several is one of theirs, nobody knows whose."""
    event = _published(body)
    kind, bounce, complaint = at(event, "eventType") or at(event, "notificationType"), at(event, "bounce"), at(event, "complaint")
    if one_of(kind, "bounce") and one_of(at(bounce, "bounceType"), "permanent") and one_of(at(bounce, "bounceSubType"), *DEAD):
        for one in _recipients(bounce, "bouncedRecipients"):
            if not one_of(at(one, "action"), "delayed", "relayed", "expanded", "delivered"):
                yield HARD, at(one, "emailAddress")
    complained = _recipients(complaint, "complainedRecipients")
    if (
        one_of(kind, "complaint")
        and not one_of(at(complaint, "complaintSubType"), *SUPPRESSED_BEFORE)
        and not one_of(at(complaint, "complaintFeedbackType"), "not-spam")
        and len(complained) == 1
    ):
        yield COMPLAINT, at(complained[0], "emailAddress")


def _recipients(part: Any, name: str) -> list[Any]:
    entries = at(part, name)
    return entries if isinstance(entries, list) else []


def scaleway(body: bytes) -> Stated:
    """`email_dropped` and `email_spam` tell no cause."""
    event = _published(body)
    if one_of(at(event, "type"), "email_mailbox_not_found"):
        yield HARD, at(event, "email_to")


def _published(body: bytes) -> Any:
    """What SNS wraps: the text Message of a notification; a body without any envelope is what was published itself."""
    whole = read(body)
    if not isinstance(whole, dict) or not {"Type", "Message"} & whole.keys():
        return whole
    return read(whole.get("Message")) if whole.get("Type") == "Notification" else None


def mailgun(body: bytes) -> Stated:
    """`permanent` only says that Mailgun gave this mail up: the reason decides."""
    try:
        event = at(read(body), "event-data")
    except (ValueError, RecursionError):
        yield from _mailgun_legacy(multipart(body) if body.startswith(b"--") else form(body))
        return
    kind, about, reason, status = (at(event, name) for name in ("event", "recipient", "reason", "delivery-status"))
    if one_of(kind, "complained"):
        yield COMPLAINT, about
    says_hard = one_of(at(status, "bounce-type"), "hard") or is_bad_address(at(status, "enhanced-code"))
    if (
        one_of(kind, "failed")
        and one_of(at(event, "severity"), "permanent")
        and not one_of(at(status, "bounce-type"), "soft")
        and (one_of(reason, "bounce") or (one_of(reason, "generic", "hardfail") and says_hard))
    ):
        yield HARD, about


def _mailgun_legacy(fields: dict[str, bytes]) -> Stated:
    text = {name: value.decode(errors="replace") for name, value in fields.items()}
    if one_of(text.get("event"), "complained"):
        yield COMPLAINT, text.get("recipient")
    if one_of(text.get("event"), "bounced") and text.get("code", "").startswith("5"):
        yield HARD, text.get("recipient")


def postmark(body: bytes) -> Stated:
    """The text of a type counts, not its number; a change of a subscription tells a bounce or complaint once more."""
    for event in objects(read(body)):
        record, kind, reason = (event.get(name) for name in ("RecordType", "Type", "SuppressionReason"))
        is_bounce, is_complaint = one_of(record, "bounce"), one_of(record, "spamcomplaint")
        is_stopped = one_of(record, "subscriptionchange") and event.get("SuppressSending") is True
        if is_complaint or (is_bounce and one_of(kind, "spamcomplaint")):
            yield COMPLAINT, event.get("Email")
        if is_bounce and one_of(kind, "hardbounce", "bademailaddress"):
            yield HARD, event.get("Email")
        if is_stopped and one_of(reason, "hardbounce"):
            yield HARD, event.get("Recipient")
        if is_stopped and one_of(reason, "spamcomplaint"):
            yield COMPLAINT, event.get("Recipient")


def mailersend(body: bytes) -> Stated:
    """The address has stood in three places over the years."""
    event = read(body)
    data = at(event, "data")
    for about in (at(data, "email", "recipient", "email"), at(data, "recipient"), at(data, "email")):
        if one_of(at(event, "type"), "activity.spam_complaint"):
            yield COMPLAINT, about
        if one_of(at(event, "type"), "activity.hard_bounced"):
            yield HARD, about


def postal(body: bytes) -> Stated:
    """No complaints, and no bounce but an SMTP answer about the address; mail to us is none of a campaign's."""
    event = read(body)
    payload = at(event, "payload")
    details = at(payload, "details")
    if (
        one_of(at(event, "event"), "messagedeliveryfailed")
        and one_of(at(payload, "status"), "hardfail")
        and isinstance(details, str)
        and details.lower().startswith("permanent smtp delivery error")
        and is_bad_address(at(payload, "output"))
        and not one_of(at(payload, "message", "direction"), "incoming")
    ):
        yield HARD, at(payload, "message", "to")
