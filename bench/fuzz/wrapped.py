"""Evidence in bodies that have to be unwrapped first: the envelopes of SNS, and Mailgun's, some of which are forms."""

from typing import Any

from bench.fuzz.reading import at, form, is_bad_address, multipart, one_of, read
from bench.fuzz.single import COMPLAINT, DEAD, HARD, Stated

SUPPRESSED_BEFORE = ("onaccountsuppressionlist", "ontenantsuppressionlist")


def ses(body: bytes) -> Stated:
    """Never `mail.destination`, and of a bounce only those whose own delivery failed."""
    event = _published(body)
    kind, bounce = at(event, "eventType") or at(event, "notificationType"), at(event, "bounce")
    if one_of(kind, "complaint"):
        yield from _complained(at(event, "complaint"))
    is_permanent = one_of(at(bounce, "bounceType"), "permanent") and one_of(at(bounce, "bounceSubType"), *DEAD)
    if one_of(kind, "bounce") and is_permanent:
        for one in _recipients(bounce, "bouncedRecipients"):
            if not one_of(at(one, "action"), "delayed", "relayed", "expanded", "delivered"):
                yield HARD, at(one, "emailAddress")


def _complained(complaint: Any) -> Stated:
    """A complaint that lists several is one of theirs, and nobody knows whose."""
    recipients = _recipients(complaint, "complainedRecipients")
    is_echo = one_of(at(complaint, "complaintSubType"), *SUPPRESSED_BEFORE)
    if len(recipients) == 1 and not is_echo and not one_of(at(complaint, "complaintFeedbackType"), "not-spam"):
        yield COMPLAINT, at(recipients[0], "emailAddress")


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
    bounce_type = at(status, "bounce-type")
    says_hard = one_of(bounce_type, "hard") or is_bad_address(at(status, "enhanced-code"))
    is_dead = one_of(reason, "bounce") or (one_of(reason, "generic", "hardfail") and says_hard)
    if one_of(kind, "complained"):
        yield COMPLAINT, about
    is_given_up = one_of(kind, "failed") and one_of(at(event, "severity"), "permanent")
    if is_given_up and is_dead and not one_of(bounce_type, "soft"):
        yield HARD, about


def _mailgun_legacy(fields: dict[str, bytes]) -> Stated:
    text = {name: value.decode(errors="replace") for name, value in fields.items()}
    if one_of(text.get("event"), "complained"):
        yield COMPLAINT, text.get("recipient")
    if one_of(text.get("event"), "bounced") and text.get("code", "").startswith("5"):
        yield HARD, text.get("recipient")
