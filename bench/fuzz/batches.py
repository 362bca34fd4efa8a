"""Evidence in the bodies of providers that post many events at a time."""

from collections.abc import Iterator
from typing import Any

from bench.fuzz.reading import at, form, is_bad_address, objects, one_of, read
from bench.fuzz.single import COMPLAINT, HARD, Stated

# What Unisender Go calls a hard bounce though it is about the mail, the sender, or a mailbox that is only full.
NOT_THE_ADDRESS = (
    "err_spam_rejected",
    "err_spam_skipped",
    "err_blacklisted",
    "err_too_large",
    "err_skip_letter",
    "err_lost",
    "err_mailbox_full",
    "err_will_retry",
    "err_destination_misconfigured",
    "err_unreachable",
    "err_delivery_failed",
    "err_unsubscribed",
)


def sendgrid(body: bytes) -> Stated:
    """A block is no bounce, and the address of the dashboard's test button is nobody's."""
    for event in objects(read(body)):
        name, kind, cause, about = (event.get(key) for key in ("event", "type", "bounce_classification", "email"))
        if one_of(about.strip() if isinstance(about, str) else about, "example@test.com"):
            continue
        if one_of(name, "spamreport"):
            yield COMPLAINT, about
        if one_of(name, "bounce") and (one_of(kind, "bounce") or (kind is None and one_of(cause, "invalid address"))):
            yield HARD, about


def sparkpost(body: bytes) -> Stated:
    """Classes 10 and 30; class 90 unsubscribes, and class 25 is an echo of the suppression list."""
    for event in (one for item in objects(read(body)) for one in objects(_values(item.get("msys")))):
        about, raw = event.get("rcpt_to"), event.get("raw_rcpt_to")
        for one in (raw, about) if about is None or str(about).lower() == str(raw).lower() else (about,):
            if one_of(event.get("type"), "spam_complaint"):
                yield COMPLAINT, one
            if one_of(event.get("type"), "bounce", "out_of_band") and one_of(event.get("bounce_class"), "10", "30"):
                yield HARD, one


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []


def mailjet(body: bytes) -> Stated:
    """A hard bounce may be one of this message alone."""
    for event in objects(read(body)):
        is_hard = event.get("hard_bounce") is True or one_of(event.get("hard_bounce"), "1", "true")
        is_of_the_mail = one_of(event.get("error_related_to"), "spam", "content", "system", "mailjet")
        if one_of(event.get("event"), "spam"):
            yield COMPLAINT, event.get("email")
        if one_of(event.get("event"), "bounce") and is_hard and not is_of_the_mail:
            yield HARD, event.get("email")


def brevo(body: bytes) -> Stated:
    """The name of the event is all there is, whatever the reason says."""
    for event in objects(read(body)):
        if one_of(event.get("event"), "spam", "complaint"):
            yield COMPLAINT, event.get("email")
        if one_of(event.get("event"), "hard_bounce", "invalid_email", "hardbounce", "invalid"):
            yield HARD, event.get("email")


def mandrill(body: bytes) -> Stated:
    """Changes of the denylist are echoes, and the address of the dashboard's test button is nobody's."""
    for event in objects(read(form(body).get("mandrill_events"))):
        about = at(event, "msg", "email")
        if one_of(about.strip() if isinstance(about, str) else about, "example.webhook@mandrillapp.com"):
            continue
        if one_of(event.get("event"), "spam"):
            yield COMPLAINT, about
        if one_of(event.get("event"), "hard_bounce"):
            yield HARD, about


def mailtrap(body: bytes) -> Stated:
    """One object with a list, a list, a bare event, or a line for each."""
    for event in _events(body):
        name, category, about = (event.get(key) for key in ("event", "bounce_category", "email"))
        if one_of(name, "spam"):
            yield COMPLAINT, about
        is_dead = one_of(category, "badrecipient", "hard") or (
            category is None and is_bad_address(event.get("response"))
        )
        if one_of(name, "bounce") and is_dead:
            yield HARD, about


def _events(body: bytes) -> Iterator[dict[str, Any]]:
    for text in (body, *body.split(b"\n")):
        try:
            value = read(text)
        except (ValueError, RecursionError):
            continue
        for one in objects(value):
            yield from objects(one.get("events")) if "events" in one else (one,)


def unisender_go(body: bytes) -> Stated:
    """Only events about the status of a mail name a recipient."""
    whole = objects(read(body))
    users = [user for one in whole for user in objects(one.get("events_by_user", {"events": [one]}))]
    for event in (event for user in users for event in objects(user.get("events"))):
        data = event.get("event_data", event)
        if event.get("event_name") is not None and not one_of(event.get("event_name"), "transactional_email_status"):
            continue
        if one_of(at(data, "status"), "spam"):
            yield COMPLAINT, at(data, "email")
        is_dead = not one_of(at(data, "delivery_info", "delivery_status"), *NOT_THE_ADDRESS)
        if one_of(at(data, "status"), "hard_bounced") and is_dead:
            yield HARD, at(data, "email")
