"""What Resend demands of a batch. Strict: one bad mail refuses the whole call.

The names are Resend's; which index a text names is ours, and a setting, because the real texts often name none.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from dev.sandbox.refusal import Refusal

MOST_MAILS = 100
MOST_RECIPIENTS = 50
MOST_TAGS = 75

_ADDRESS = re.compile(r"[^\s@<>,;\"]{1,64}@[^\s@<>,;\"]{1,253}\.[^\s@<>,;.\"]+")
_NAMED = re.compile(rf"[^<>]*<{_ADDRESS.pattern}>")
_TAG = re.compile(r"[A-Za-z0-9_-]{1,256}")
_FORMAT = "The email address needs to follow the `email@example.com` or `Name <email@example.com>` format."

Mail = Mapping[str, Any]


def read(body: bytes) -> list[Mail]:
    """The mails of a request body; raises Refusal where it is no batch."""
    try:
        mails = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusal(400, "validation_error", "The request body is not valid JSON.") from None
    if not isinstance(mails, list) or not all(isinstance(mail, dict) for mail in mails):
        raise Refusal(422, "validation_error", "The request body must be an array of emails.")
    if not 1 <= len(mails) <= MOST_MAILS:
        raise Refusal(422, "validation_error", f"A batch holds between 1 and {MOST_MAILS} emails.")
    return mails


def check(mails: list[Mail], refused: Callable[[str], bool], name_index: bool) -> None:
    """Raises Refusal for the first mail that cannot be taken; `refused` knows recipients to refuse on demand."""
    for index, mail in enumerate(mails):
        for rule in _RULES:
            problem = rule(mail)
            if problem is not None:
                raise _refusal(index, *problem, name_index)
        for recipient in recipients(mail):
            if refused(recipient):
                raise _refusal(index, "validation_error", "to", f"Invalid `to` field. {_FORMAT}", name_index)


def recipients(mail: Mail) -> list[str]:
    """The entries of `to`."""
    to = mail.get("to")
    return to if isinstance(to, list) else [to] if isinstance(to, str) else []


def bare(entry: str) -> str:
    """The address of "Name <address>" or of a bare address."""
    return entry[entry.rindex("<") + 1 : -1] if entry.endswith(">") else entry


Problem = tuple[str, str, str]  # name of the error, field, text


def _sender(mail: Mail) -> Problem | None:
    if "from" not in mail:
        return "missing_required_field", "from", "Missing `from` field."
    return None if _is_address(mail["from"]) else ("invalid_from_address", "from", f"Invalid `from` field. {_FORMAT}")


def _to(mail: Mail) -> Problem | None:
    entries = recipients(mail)
    if not entries:
        return "missing_required_field", "to", "Missing `to` field."
    if len(entries) > MOST_RECIPIENTS:
        return "validation_error", "to", f"The `to` field takes at most {MOST_RECIPIENTS} addresses."
    return None if all(map(_is_address, entries)) else ("validation_error", "to", f"Invalid `to` field. {_FORMAT}")


def _subject(mail: Mail) -> Problem | None:
    subject = mail.get("subject")
    return (
        None
        if isinstance(subject, str) and subject
        else ("missing_required_field", "subject", "Missing `subject` field.")
    )


def _content(mail: Mail) -> Problem | None:
    for field in ("html", "text"):
        if not isinstance(mail.get(field, ""), str):
            return "validation_error", field, f"The `{field}` field must be a string."
    if not mail.get("html") and not mail.get("text"):
        return "missing_required_field", "html", "Missing `html` or `text` field."
    return None


def _not_in_batches(mail: Mail) -> Problem | None:
    if "attachments" in mail:
        return "invalid_attachment", "attachments", "The `attachments` field is not supported in batches."
    # Sources disagree about this one; the stricter reading.
    return ("validation_error", "scheduled_at", "Not supported in batches.") if "scheduled_at" in mail else None


def _headers(mail: Mail) -> Problem | None:
    headers = mail.get("headers", {})
    fine = isinstance(headers, dict) and all(isinstance(value, str) for value in headers.values())
    return None if fine else ("validation_error", "headers", "The `headers` field must be an object of strings.")


def _tags(mail: Mail) -> Problem | None:
    tags = mail.get("tags", [])
    if isinstance(tags, list) and len(tags) <= MOST_TAGS and all(map(_is_tag, tags)):
        return None
    text = "Tags should only contain ASCII letters, numbers, underscores, or dashes."
    return "validation_error", "tags", text


_RULES = (_sender, _to, _subject, _content, _not_in_batches, _headers, _tags)


def _is_address(entry: object) -> bool:
    return isinstance(entry, str) and bool(_ADDRESS.fullmatch(entry) or _NAMED.fullmatch(entry))


def _is_tag(tag: object) -> bool:
    if not isinstance(tag, dict):
        return False
    return all(isinstance(tag.get(part), str) and _TAG.fullmatch(tag[part]) for part in ("name", "value"))


def _refusal(index: int, name: str, field: str, text: str, name_index: bool) -> Refusal:
    return Refusal(422, name, f"emails[{index}].{field}: {text}" if name_index else text)
