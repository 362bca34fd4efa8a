"""What a form of Mailgun's legacy webhooks says. Source: mailgun/documentation, user_manual.rst ("Webhooks")."""

from collections.abc import Iterator
from datetime import datetime

from core.ledger.tags import OWN
from providers import payload
from providers.items import Said
from providers.tables.mailgun import LEGACY_TABLE

DETAILS = {"form": ("code", "reason", "error", "notification", "description")}
CLASSIFIER = LEGACY_TABLE.ready()


def said(single_use: str, form: dict[str, object], received_at: datetime) -> tuple[Said, ...]:
    """What `form` (name → value) says; its time is that of its proof."""
    headers = list(_headers(form))
    message_id = _message_id(form, headers)
    timestamp = form.get("timestamp")
    verdict = CLASSIFIER.judge(form)
    return (
        Said(
            verdict=verdict,
            recipient=form.get("recipient"),
            event_id=payload.composite("legacy", form.get("event"), form.get("recipient"), message_id, timestamp),
            occurred_at=payload.unix_moment(timestamp, received_at),
            provider_message_id=message_id,
            tags=_tags(form, headers),
            detail=payload.detail({"form": form}, DETAILS),
            single_use=single_use,
        ),
    )


def _headers(form: dict[str, object]) -> Iterator[tuple[str, str]]:
    """The headers of the mail, names in lower case; not every event comes with them."""
    written = form.get("message-headers")
    if not isinstance(written, str):
        return
    try:
        pairs = payload.read_json(written.encode())
    except payload.Unreadable:
        return
    for pair in pairs if isinstance(pairs, list) else ():
        match pair:
            case [str(name), str(value)]:
                yield name.lower(), value


def _message_id(form: dict[str, object], headers: list[tuple[str, str]]) -> str:
    """The mail's id without the angle brackets that some events have around it."""
    candidates = [
        form.get("Message-Id"),
        form.get("message-id"),
        *(text for name, text in headers if name == "message-id"),
    ]
    written = next((one for one in candidates if isinstance(one, str) and one), "")
    return payload.identifier(written.strip().removeprefix("<").removesuffix(">"))


def _tags(form: dict[str, object], headers: list[tuple[str, str]]) -> dict[str, object]:
    """Our own tags: variables of the mail are fields of the form, and stand in a header of it where that is known."""
    tags = {name: form[name] for name in OWN if name in form}
    for name, text in headers:
        if name == "x-mailgun-variables":
            try:
                tags |= payload.read_object(text.encode())
            except payload.Unreadable:
                continue
    return tags
