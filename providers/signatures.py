"""Primitives of proof: why a request is refused, keys decoded once, digests compared in constant time.

Pure: no clock, no network, no settings. Every scheme of a provider is built from these, so that a hostile header can
cost a refusal and nothing else.
"""

import base64
import binascii
import hmac
from collections.abc import Sequence
from enum import StrEnum

SECRET_PREFIX = "whsec_"  # noqa: S105 - a public label in front of the key, not a key


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
        for number, key in enumerate(self._keys, start=1):
            expected = _hmac_sha256(key, content)
            if any([hmac.compare_digest(expected, one) for one in presented]):  # a list: every one is compared
                return f"{number} of {len(self._keys)}"
        return None


def _hmac_sha256(key: bytes, content: bytes) -> bytes:
    return base64.b64encode(hmac.digest(key, content, "sha256"))
