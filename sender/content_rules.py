"""The rules for each part of a content: every one returns nothing, or raises ValidationError in words for operators."""

import re
from collections.abc import Callable, Mapping, Sized
from urllib.parse import urlsplit

from marshmallow import ValidationError

from core.addresses import NotAnAddress, normalise
from core.ledger.tags import OWN, PREFIX, fits

BODY_LIMIT = 512 * 1024  # bytes of html, and of text; mail programs cut what is far smaller
SUBJECT_LIMIT = 998  # characters: a line of a mail holds no more (RFC 5322, 2.1.1)
MAILBOX_LIMIT = 320
URL_LIMIT = 1000
MOST_HEADERS = 50
MOST_TAGS = 75 - len(OWN)  # Resend's documentation allows 75 in all
TOKEN = "{token}"  # noqa: S105 - a placeholder, no secret

UNSUBSCRIBE_HEADERS = frozenset({"list-unsubscribe", "list-unsubscribe-post"})
# What the mail's other fields say, what the provider writes, and what would change who gets it.
_RESERVED = frozenset({
    "from", "sender", "to", "cc", "bcc", "subject", "reply-to", "date", "message-id", "return-path", "received",
    "mime-version", "dkim-signature", "authentication-results", "disposition-notification-to", "idempotency-key",
})  # fmt: skip
_RESERVED_PREFIXES = ("content-", "resent-", "arc-", "resend-", "x-mailward-")

_HEADER_NAME = re.compile(r"[A-Za-z0-9_-]{1,76}")
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]{0,996}[!-~])?")
_URL = re.compile(r"[!#$%&'()*+,./0-9:;=?@A-Z_a-z~{}-]+")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def mailbox(text: str) -> None:
    """One address, with or without a display name, on one line."""
    if _CONTROL.search(text.strip()) or len(text) > MAILBOX_LIMIT:
        raise ValidationError(f"must be one line of at most {MAILBOX_LIMIT} characters")
    try:
        normalise(text)
        text.encode()
    except NotAnAddress as error:
        raise ValidationError(f"must be one address, with or without a name: {error}") from None
    except UnicodeEncodeError:
        raise ValidationError(_HALF) from None


def subject(text: str) -> None:
    """A template of one line."""
    if not text.strip() or _CONTROL.search(text) or len(text) > SUBJECT_LIMIT:
        raise ValidationError(f"must be one line of 1 to {SUBJECT_LIMIT} characters")
    _size(text)


def body(text: str) -> None:
    """A template of html or text."""
    if _size(text) > BODY_LIMIT:
        raise ValidationError(f"must be at most {BODY_LIMIT // 1024} KiB")
    if "\0" in text:
        raise ValidationError("must not hold a zero byte")


def headers(named: Mapping[str, str]) -> None:
    """Headers of our own; none that the mail has anyway, and no way to begin another line."""
    at_most(MOST_HEADERS)(named)
    if len({name.lower() for name in named}) != len(named):
        raise ValidationError("must not name a header twice")
    for name, value in named.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValidationError("names are 1 to 76 of A-Z a-z 0-9 _ -")
        if name.lower() in _RESERVED or name.lower().startswith(_RESERVED_PREFIXES):
            raise ValidationError(f"{name} is not for a campaign to set")
        if not _HEADER_VALUE.fullmatch(value):
            raise ValidationError(f"the value of {name} must be one line of 1 to 998 printable ASCII characters")


def tags(named: Mapping[str, str]) -> None:
    """Tags in the alphabet that providers accept; the prefix mailward_ is ours."""
    at_most(MOST_TAGS)(named)
    for name, value in named.items():
        if not fits(name) or not fits(value):
            raise ValidationError("names and values are 1 to 256 of A-Z a-z 0-9 _ -")
        if name.lower().startswith(PREFIX):
            raise ValidationError(f"names that begin with {PREFIX} are mailward's own")


def unsubscribe_url(text: str) -> None:
    """Nothing, or an https URL with {token} once in its path or query (one-click posts to it: RFC 8058)."""
    if not text:
        return
    if len(text) > URL_LIMIT or not _URL.fullmatch(text):
        raise ValidationError(f"must be a URL of at most {URL_LIMIT} characters")
    if text.count(TOKEN) != 1 or text.count("{") != 1 or text.count("}") != 1:
        raise ValidationError("must hold {token} exactly once, and no other braces")
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises ValueError where it is no number
    except ValueError:
        raise ValidationError("must be an https URL") from None
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise ValidationError("must be an https URL, without a user name")
    if TOKEN not in parts.path + "?" + parts.query:
        raise ValidationError("must hold {token} in its path or query: nothing else reaches the server")


def at_most(most: int) -> Callable[[Sized], None]:
    """A rule: no more than `most` entries."""

    def rule(entries: Sized) -> None:
        if len(entries) > most:
            raise ValidationError(f"must be at most {most}")

    return rule


_HALF = "must not hold half of a character (a lone surrogate)"


def _size(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise ValidationError(_HALF) from None
