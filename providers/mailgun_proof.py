"""Mailgun's proof: an HMAC of a time and a random token that stands in the body and covers nothing else of it.

So whoever has seen one post can put any event beside its proof: each token is good for one event only, which the
consumer enforces (Event.single_use). Source: documentation.mailgun.com, "Securing webhooks".
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode

from providers import mailgun_post, payload
from providers.base import Post, ProofRefused, Request
from providers.conditions import comparable
from providers.signatures import Refusal, as_keys, is_among, require_fresh, which

# Nothing separates time and token in what is signed, so a digit moved from one to the other would make a new token of
# an old proof: both have one length only.
_TIMESTAMP = re.compile("[0-9]{10}")
_TOKEN = re.compile("[!-~]{50}")
_SIGNATURE = re.compile("[0-9a-f]{64}")


class SignedToken:
    """Verifies and makes proofs with `secrets`, webhook signing keys that are used as they are.

    A proof may be `window_s` seconds old and `future_s` ahead of our clock. An event of a subaccount carries a
    `parent-signature` besides, of the same time and token under the main account's key: either is enough.
    """

    def __init__(self, secrets: Sequence[str], *, window_s: int, future_s: int) -> None:
        """Raises ValueError where there is no secret or an empty one."""
        self._keys = as_keys(secrets)
        self._window_s, self._future_s = window_s, future_s

    def verify(self, request: Request) -> str:
        """Which secret signed `request` ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        try:
            proof = mailgun_post.read(request.body).proof
        except payload.Unreadable:
            raise ProofRefused(Refusal.MISSING_HEADERS) from None
        timestamp, token, signatures = _shown(proof)
        matched = which(self._keys, lambda key: is_among(_digest(key, timestamp + token), signatures))
        if matched is None:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        require_fresh(request.received_at.timestamp() - int(timestamp), self._window_s, self._future_s)
        return matched

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign; what is no JSON is taken for a URL-encoded form. Raises ValueError for broken JSON."""
        timestamp = str(int(sent_at.timestamp()))
        token = hashlib.sha256(f"{message_id} {timestamp} ".encode() + body).hexdigest()[:50]
        proof = {"timestamp": timestamp, "token": token, "signature": _digest(self._keys[0], timestamp + token)}
        if not mailgun_post.is_json(body):
            form = body + b"&" + urlencode(proof).encode()
            return Post({"content-type": "application/x-www-form-urlencoded"}, form)
        try:
            content = payload.read_object(body) | {"signature": proof}
        except payload.Unreadable as error:
            raise ValueError(f"cannot be signed: {error}") from None
        return Post({"content-type": "application/json"}, json.dumps(content).encode())


def _shown(proof: Mapping[str, object]) -> tuple[str, str, list[str]]:
    """Time, token and signatures of a proof, each in its one shape. Raises ProofRefused."""
    written = proof.get("timestamp")
    timestamp = written if isinstance(written, str) else comparable(written)  # documented as a number, sent as a text
    token = proof.get("token")
    presented = [one for one in (proof.get("signature"), proof.get("parent-signature")) if one]
    if not timestamp or not token or not presented:
        raise ProofRefused(Refusal.MISSING_HEADERS)
    if not _TIMESTAMP.fullmatch(timestamp):
        raise ProofRefused(Refusal.MALFORMED_TIMESTAMP)
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise ProofRefused(Refusal.MALFORMED_ID)
    return timestamp, token, [one for one in presented if isinstance(one, str) and _SIGNATURE.fullmatch(one)]


def _digest(key: bytes, content: str) -> str:
    return hmac.digest(key, content.encode(), "sha256").hex()
