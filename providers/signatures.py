"""Primitives of proof: why a request is refused, keys decoded once, digests compared in constant time.

Pure: no clock, no network, no settings. Every scheme of a provider is built from these, so that a hostile header can
cost a refusal and nothing else.
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from providers.base import ProofRefused

SECRET_PREFIX = "whsec_"  # noqa: S105 - a public label in front of the key, not a key


Key = TypeVar("Key")
Text = TypeVar("Text", str, bytes)  # compare_digest takes text of ASCII, or bytes


class Refusal(StrEnum):
    """Every reason for a 401, also the word that is logged and counted.

    `stale` and `from_the_future` mean that the signature is genuine: a clock is wrong, or somebody replays an old post.
    """

    MISSING_HEADERS = "missing_headers"
    MALFORMED_ID = "malformed_id"
    MALFORMED_TIMESTAMP = "malformed_timestamp"
    DUPLICATE_HEADERS = "duplicate_headers"
    BAD_SIGNATURE = "bad_signature"
    BAD_CREDENTIALS = "bad_credentials"
    STALE = "stale"
    FROM_THE_FUTURE = "from_the_future"


def decode_base64(text: str) -> bytes | None:
    """The bytes of padded standard base64, or None where `text` is anything else, in another alphabet for instance."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def as_keys(secrets: Sequence[str], word: str = "secret") -> list[bytes]:
    """`secrets`, which the provider calls by `word`, used as the texts they are. Raises ValueError where there is none,
    or an empty one, which would open the door to everybody."""
    if not secrets or not all(secrets):
        raise ValueError(f"a provider needs at least one {word}, and none may be empty")
    return [secret.encode() for secret in secrets]


def which(keys: Sequence[Key], matches: Callable[[Key], bool]) -> str | None:
    """The first of `keys` that `matches`, as its place among them ("1 of 2"), or None."""
    for number, key in enumerate(keys, start=1):
        if matches(key):
            return f"{number} of {len(keys)}"
    return None


def single_headers(headers: Mapping[str, str], *names: str) -> tuple[str, ...]:
    """The values of the headers `names`, which hold no comma: a server joins repeated headers with one. Raises
    ProofRefused."""
    values = tuple(headers.get(name, "") for name in names)
    if not all(values):
        raise ProofRefused(Refusal.MISSING_HEADERS)
    if any("," in value for value in values):
        raise ProofRefused(Refusal.DUPLICATE_HEADERS)
    return values


def require_fresh(age_s: float, past_s: float, future_s: float) -> None:
    """Refuse a genuine post that is more than `past_s` seconds old or `future_s` ahead of our clock (ProofRefused).

    Ask this last: then `stale` always means a genuine post.
    """
    if age_s > past_s:
        raise ProofRefused(Refusal.STALE)
    if age_s < -future_s:
        raise ProofRefused(Refusal.FROM_THE_FUTURE)


class Keyring:
    """The secrets of one provider, decoded once; several live at once while one replaces another."""

    def __init__(self, secrets: Sequence[str]) -> None:
        """`secrets` are base64, with or without whsec_; ValueError where there is none or one is empty or malformed."""
        keys = [decode_base64(secret.removeprefix(SECRET_PREFIX)) for secret in secrets]
        if not keys or not all(keys):
            raise ValueError("a provider needs at least one secret, and each must be whsec_ followed by base64")
        self._keys = [key for key in keys if key]

    def digest(self, content: bytes) -> bytes:
        """Base64 of the HMAC-SHA256 of `content` under the first secret, the one that we sign with ourselves."""
        return _hmac_sha256(self._keys[0], content)

    def match(self, content: bytes, presented: Sequence[bytes]) -> str | None:
        """Which secret made one of the `presented` base64 digests ("1 of 2"), or None.

        The base64 texts are compared, not the decoded bytes: what is not exactly the canonical text cannot match, and
        there is nothing to decode that could fail.
        """
        return which(self._keys, lambda key: is_among(_hmac_sha256(key, content), presented))


def is_among(expected: Text, presented: Iterable[Text]) -> bool:
    """Whether `expected` is one of `presented`; every one is compared, in constant time."""
    return any([hmac.compare_digest(expected, one) for one in presented])  # a list: `any` alone would stop early


def _hmac_sha256(key: bytes, content: bytes) -> bytes:
    return base64.b64encode(hmac.digest(key, content, "sha256"))
