"""Unisender Go's scheme: the body's own field `auth` is the MD5 of the body in which the API key stands in its place.

Pure. The bytes count as they came, whatever order, blanks and escapes the JSON has. No time is signed, so a genuine
post can be repeated for ever, and MD5 is the provider's choice.
Source: godocs.unisender.ru/web-api-ref#callback-format.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from datetime import datetime

from providers.base import Post, ProofRefused, Request
from providers.signatures import Refusal, as_keys, which

AUTH = "auth"
_DIGEST = re.compile(r"[0-9a-f]{32}")
_FIELD = re.compile(rb'"auth"[ \t\r\n]*:[ \t\r\n]*"([0-9a-f]{32})"')


class SplicedMd5:
    """Verifies and makes the field `auth` of a JSON object with `keys`, the API keys of the account or project."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises ValueError where there is no key or an empty one."""
        self._keys = as_keys(keys, "key")

    def verify(self, request: Request) -> str:
        """Which key signed `request` ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        before, presented, after = _around_auth(request.body)
        matched = which(self._keys, lambda key: hmac.compare_digest(_md5(before + key + after), presented))
        if matched is None:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        return matched

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign. Raises ValueError for a body without a place for `auth`: 32 hex digits of any value."""
        try:
            before, _, after = _around_auth(body)
        except ProofRefused:
            raise ValueError("the body is not a JSON object with one auth of 32 hex digits to be replaced") from None
        digest = _md5(before + self._keys[0] + after)
        return Post({"content-type": "application/json"}, before + digest + after)


def _around_auth(body: bytes) -> tuple[bytes, bytes, bytes]:
    """`body` before, in and after the value of its one top-level `auth`.

    The digest must stand in the bytes once, as the value of that field: what else it could replace stays no question.
    Raises ProofRefused.
    """
    presented = _top_level_auth(body)
    places = [place for place in _FIELD.finditer(body) if place[1] == presented]
    if len(places) != 1 or body.count(presented) != 1:
        raise ProofRefused(Refusal.BAD_SIGNATURE)
    start, end = places[0].span(1)
    return body[:start], presented, body[end:]


def _top_level_auth(body: bytes) -> bytes:
    try:
        parsed = json.loads(body.decode(), object_pairs_hook=_with_one_auth)
    except (ValueError, RecursionError):
        raise ProofRefused(Refusal.BAD_SIGNATURE) from None
    if not isinstance(parsed, dict) or AUTH not in parsed:
        raise ProofRefused(Refusal.MISSING_HEADERS)
    presented = parsed[AUTH]
    if not isinstance(presented, str) or not _DIGEST.fullmatch(presented):
        raise ProofRefused(Refusal.BAD_SIGNATURE)
    return presented.encode()


def _with_one_auth(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if sum(name == AUTH for name, _ in pairs) > 1:
        raise ValueError("auth stands there twice")
    return dict(pairs)


def _md5(content: bytes) -> bytes:
    # Without the flag, Python builds for FIPS refuse MD5, and with it the provider.
    return hashlib.md5(content, usedforsecurity=False).hexdigest().encode()
