"""The Standard Webhooks scheme, which Svix (and so Resend) uses too: HMAC-SHA256 over id, timestamp and raw body.

The signed bytes are the id, a dot, the timestamp's text, a dot, and the body as received. Source: the Standard Webhooks
specification; Svix, "Verifying payloads manually".

Decisions, where the specification leaves a gap:

- Header names. `svix-*` and `webhook-*` are both accepted, each as a complete set of three; where both sets are
  complete, the svix one counts. A set is never completed from the other.
- Duplicates. A server joins repeated headers with a comma. An id or timestamp with a comma, and a signature token with
  a second one, are therefore refused: which was meant cannot be known. A genuine list is separated by blanks.
- The id holds no dot, so that the signed bytes can be split in one way only; it is printable ASCII.
- The signature is checked before the timestamp: `stale` then always means a genuine post that came too late.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from providers.base import Post, ProofRefused, Request
from providers.signatures import Keyring, Refusal, require_fresh

SVIX = "svix"
WEBHOOK = "webhook"

_ID = re.compile(r"[!-+/-~\-]+")  # printable ASCII without blank, comma and dot
_TIMESTAMP = re.compile(r"[0-9]{1,11}")  # seconds; eleven digits reach the year 5138


class StandardWebhooks:
    """Verifies and makes signatures with `secrets`; posts may be `tolerance_s` seconds old, or as far ahead."""

    def __init__(self, secrets: Sequence[str], tolerance_s: int) -> None:
        self._keyring = Keyring(secrets)
        self._tolerance_s = tolerance_s

    def verify(self, request: Request) -> str:
        """Which secret signed `request` ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        headers = request.headers
        prefix = _complete_set(headers)
        if prefix is None:
            raise ProofRefused(Refusal.MISSING_HEADERS)
        message_id, timestamp = headers[f"{prefix}-id"], headers[f"{prefix}-timestamp"]
        if not _ID.fullmatch(message_id):
            raise ProofRefused(Refusal.DUPLICATE_HEADERS if "," in message_id else Refusal.MALFORMED_ID)
        if not _TIMESTAMP.fullmatch(timestamp):
            raise ProofRefused(Refusal.DUPLICATE_HEADERS if "," in timestamp else Refusal.MALFORMED_TIMESTAMP)
        presented = _version_1(headers[f"{prefix}-signature"])
        matched = self._keyring.match(_signed_bytes(message_id, timestamp, request.body), presented)
        if matched is None:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        require_fresh(request.received_at.timestamp() - int(timestamp), self._tolerance_s, self._tolerance_s)
        return matched

    def sign(self, body: bytes, message_id: str, sent_at: datetime, prefix: str) -> Post:
        """`body` with the three headers, named `prefix`-*, that `verify` accepts.

        Raises ValueError for an id it would refuse.
        """
        if not _ID.fullmatch(message_id):
            raise ValueError("the message id must be printable ASCII without blanks, commas and dots")
        timestamp = str(int(sent_at.timestamp()))
        signature = self._keyring.digest(_signed_bytes(message_id, timestamp, body)).decode()
        headers = {
            f"{prefix}-id": message_id,
            f"{prefix}-timestamp": timestamp,
            f"{prefix}-signature": f"v1,{signature}",
            "content-type": "application/json",
        }
        return Post(headers, body)


def id_header(headers: Mapping[str, str]) -> dict[str, str]:
    """The id header that the proof covered, as name and value; of a parked post, whatever id it kept; else nothing."""
    for prefix in (_complete_set(headers), SVIX, WEBHOOK):
        name = f"{prefix}-id"
        if headers.get(name):
            return {name: headers[name]}
    return {}


def message_id(headers: Mapping[str, str]) -> str:
    """The value of `id_header`, or an empty text."""
    return next(iter(id_header(headers).values()), "")


def _complete_set(headers: Mapping[str, str]) -> str | None:
    for prefix in (SVIX, WEBHOOK):
        if headers.get(f"{prefix}-id") and headers.get(f"{prefix}-timestamp") and headers.get(f"{prefix}-signature"):
            return prefix
    return None


def _signed_bytes(message_id: str, timestamp: str, body: bytes) -> bytes:
    return b"%b.%b.%b" % (message_id.encode(), timestamp.encode(), body)


def _version_1(header: str) -> list[bytes]:
    """The v1 signatures of a header; other versions (v1a is ed25519) and malformed tokens are passed over."""
    signatures = []
    for token in header.split(" "):
        version, _, signature = token.partition(",")
        if "," in signature:
            raise ProofRefused(Refusal.DUPLICATE_HEADERS)
        if version == "v1":
            signatures.append(signature.encode("utf-8", "surrogatepass"))
    return signatures
