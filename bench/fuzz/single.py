"""Evidence in the bodies of providers that post one event at a time."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from bench.fuzz.reading import at, is_bad_address, objects, one_of, read
from core.events import Kind

Stated: TypeAlias = Iterator[tuple[Kind, Any]]
"""A kind, and whatever stands where the body should name the affected address."""

HARD, COMPLAINT = Kind.HARD_BOUNCE, Kind.COMPLAINT
# Sub-types of Permanent at Resend and SES: no such mailbox; and listed because of recent hard bounces, which removes by
# default.
DEAD = ("general", "noemail", "suppressed")


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
    kind, about, version = (
        at(event, "type"),
        at(event, "payload", "recipient"),
        at(event, "metadata", "eventSchemaVersion"),
    )
    if version is not None and not one_of(version, "1"):
        return
    if one_of(kind, "cf.email.sending.message.complained"):
        yield COMPLAINT, about
    if one_of(kind, "cf.email.sending.message.bounced") and one_of(at(event, "payload", "bounce", "type"), "hard"):
        yield HARD, about


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
