"""The scheme of Postal: an RSA signature (PKCS #1 v1.5) of the raw body, in one header for each digest.

Pure. No time is signed, so a genuine post can be repeated for ever.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

from providers.base import Post, ProofRefused, Request
from providers.public_keys import PrivateKey, PublicKey, matching, signed_for
from providers.signatures import Refusal, decode_base64, single_headers

MORE_THAN_ANY = 3000  # characters: an RSA key of 16,384 bits signs in 2,732


class RsaBody:
    """Verifies the first of `headers` (name in lower case → digest, the strongest first) that a post has, and makes the
    first one.

    Only that one counts, even where it is empty or wrong and a weaker one would do: otherwise whoever can forge the
    weakest need only spoil the others. `private_key` is asked when something is to be signed, and may raise ValueError.
    """

    def __init__(
        self,
        keys: Sequence[PublicKey],
        private_key: Callable[[], PrivateKey],
        headers: Mapping[str, hashes.HashAlgorithm],
    ) -> None:
        """Raises ValueError where there is no key or one that is not RSA."""
        if not keys:
            raise ValueError("a provider needs at least one key")
        if not all(isinstance(key, rsa.RSAPublicKey) for key in keys):
            raise ValueError("holds a key that is not RSA")
        self._keys, self._private_key, self._headers = keys, private_key, headers

    def verify(self, request: Request) -> str:
        """Which key signed `request` ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        header = next((name for name in self._headers if name in request.headers), "")
        (text,) = single_headers(request.headers, header)
        signature = decode_base64(text) if len(text) <= MORE_THAN_ANY else None
        matched = matching(self._keys, request.body, signature, self._headers[header]) if signature else None
        if matched is None:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        return matched

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign. Raises ValueError without a private key that belongs to one of the public ones."""
        header, algorithm = next(iter(self._headers.items()))
        signature = signed_for(self._keys, self._private_key(), body, algorithm)
        return Post({header: signature, "content-type": "application/json"}, body)
