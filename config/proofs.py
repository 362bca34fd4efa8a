"""Turn the text of a provider's secret, key or address into a value, or say in plain words what is wrong with it."""

import base64
import binascii
import re
from urllib.parse import urlsplit

from config.parsers import words

EMPTY = "is set but empty; remove it to switch the provider off"


def text_secrets(text: str) -> tuple[str, ...]:
    """Secrets that are used as they are, of 8 or more printable ASCII characters, separated by commas."""
    found = _some(text)
    if not all(re.fullmatch(r"[!-~]{8,}", secret) for secret in found):
        raise ValueError("must be secrets of at least 8 printable ASCII characters without blanks, separated by commas")
    return found


def credentials(text: str) -> tuple[str, ...]:
    """user:password or a token, of 16 or more printable ASCII characters, separated by commas."""
    found = _some(text)
    if not all(re.fullmatch(r"[!-~]{16,}", one) and not one.startswith(":") and not one.endswith(":") for one in found):
        raise ValueError(
            "must be user:password or a token, at least 16 printable ASCII characters, separated by commas"
        )
    return found


def public_keys(text: str) -> tuple[str, ...]:
    """Public keys as base64 of DER, as providers show them (lines of PEM are taken off), separated by commas."""
    found = tuple(map(without_pem_lines, _some(text)))
    for one in found:
        try:
            fine = len(base64.b64decode(one, validate=True)) >= 64
        except (binascii.Error, ValueError):
            fine = False
        if not fine:
            raise ValueError("holds a key that is not the base64 of a public key (MII… or MFk…)")
    return found


def without_pem_lines(text: str) -> str:
    """The base64 of a key without what PEM puts around it, line ends written as backslash and n included."""
    return re.sub(r"-----[A-Z ]+-----|\\n|\s", "", text)


def topic_arns(text: str) -> tuple[str, ...]:
    """ARNs of SNS topics, separated by commas."""
    found = _some(text)
    if not all(
        re.fullmatch(r"arn:[a-z0-9-]+:sns:[a-z0-9-]+:[A-Za-z0-9-]+:[A-Za-z0-9_.-]{1,256}", one) for one in found
    ):
        raise ValueError("must be ARNs such as arn:aws:sns:eu-west-1:123456789012:bounces, separated by commas")
    return found


def exact_urls(text: str) -> tuple[str, ...]:
    """Public URLs, kept byte for byte, separated by commas. Empty: none."""
    found = words(text)
    for one in found:
        parts = urlsplit(one)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be URLs such as https://mail.example.com/webhooks/mandrill, separated by commas")
    return found


def _some(text: str) -> tuple[str, ...]:
    found = words(text)
    if not found:
        raise ValueError(EMPTY)
    return found
