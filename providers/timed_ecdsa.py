"""SendGrid's scheme: an ECDSA signature over the text of a timestamp header with the raw body right behind it.

Pure. Source: "Getting started with the Event Webhook security features" in Twilio's documentation, and the helper
`eventwebhook` of sendgrid/sendgrid-python.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from providers.base import Post, ProofRefused, Request
from providers.public_keys import PrivateKey, PublicKey, matching, signed_for
from providers.signatures import Refusal, decode_base64, require_fresh, single_headers

MORE_THAN_ANY = 200  # characters: a signature on P-256 has at most 96
# Nothing stands between timestamp and body, so digits alone keep the one from reaching into the other.
_TIMESTAMP = re.compile(r"[0-9]{1,11}")
_SHA256 = hashes.SHA256()


class TimedEcdsa:
    """Verifies and makes the headers `signature_header` (base64 of DER) and `timestamp_header` (Unix seconds), names
    in lower case, of posts signed on P-256 with SHA-256.

    A genuine post may be `past_s` seconds old and `future_s` ahead of our clock. `private_key` is asked when something
    is to be signed, and may raise ValueError.
    """

    def __init__(
        self,
        keys: Sequence[PublicKey],
        private_key: Callable[[], PrivateKey],
        *,
        signature_header: str,
        timestamp_header: str,
        past_s: int,
        future_s: int,
    ) -> None:
        """Raises ValueError where there is no key or one of another kind."""
        if not keys:
            raise ValueError("a provider needs at least one key")
        if not all(isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1) for key in keys):
            raise ValueError("holds a key that is not ECDSA on the curve P-256")
        self._keys, self._private_key = keys, private_key
        self._signature_header, self._timestamp_header = signature_header, timestamp_header
        self._past_s, self._future_s = past_s, future_s

    def verify(self, request: Request) -> str:
        """Which key signed `request` ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        signature, timestamp = self._presented(request)
        secret = matching(self._keys, timestamp.encode() + request.body, signature, _SHA256)
        if secret is None:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        require_fresh(request.received_at.timestamp() - int(timestamp), self._past_s, self._future_s)
        return secret

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign. Raises ValueError without a private key that belongs to one of the public ones."""
        timestamp = str(int(sent_at.timestamp()))
        signature = signed_for(self._keys, self._private_key(), timestamp.encode() + body, _SHA256)
        headers = {self._signature_header: signature, self._timestamp_header: timestamp}
        return Post({**headers, "content-type": "application/json"}, body)

    def _presented(self, request: Request) -> tuple[bytes, str]:
        """The signature and the timestamp of `request`, whose shape is right. Raises ProofRefused."""
        text, timestamp = single_headers(request.headers, self._signature_header, self._timestamp_header)
        if not _TIMESTAMP.fullmatch(timestamp):
            raise ProofRefused(Refusal.MALFORMED_TIMESTAMP)
        signature = decode_base64(text) if len(text) <= MORE_THAN_ANY else None
        if not signature:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        return signature, timestamp
