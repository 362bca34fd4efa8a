"""The scheme of most signed webhooks: one header that is the HMAC of the raw body, or of something made from it."""

import base64
import hmac
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from providers.base import Post, ProofRefused, Request
from providers.signatures import Refusal, as_keys, is_among, single_headers, which

MORE_THAN_ANY = 200  # characters: no digest's text is so long


def hexadecimal(digest: bytes) -> bytes:
    """A digest as lower-case hexadecimal text."""
    return digest.hex().encode()


class HmacBody:
    """Verifies and makes the header `header` (lower case) with `secrets`, texts that are used as they are.

    `algorithm` is a name of hashlib; `encode` writes the digest as text, and texts are compared, so that nothing can
    fail to decode. `contents` yields what may have been signed for a body: several where the signer's view of it may
    differ (its URL, say). Whether a replay is possible is up to the provider: nothing here is about time.
    """

    def __init__(
        self,
        header: str,
        secrets: Sequence[str],
        algorithm: str = "sha256",
        encode: Callable[[bytes], bytes] = hexadecimal,
        contents: Callable[[bytes], Iterable[bytes]] = lambda body: (body,),
        content_type: str = "application/json",
    ) -> None:
        """Raises ValueError where there is no secret or an empty one."""
        self._header, self._keys = header, as_keys(secrets)
        self._algorithm, self._encode = algorithm, encode
        self._contents, self._content_type = contents, content_type

    def verify(self, request: Request) -> str:
        """Which secret signed `request` ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        (presented,) = single_headers(request.headers, self._header)
        if len(presented) > MORE_THAN_ANY:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        text = presented.encode("utf-8", "surrogatepass")
        contents = tuple(self._contents(request.body))
        matched = which(self._keys, lambda key: is_among(text, (self._digest(key, content) for content in contents)))
        if matched is None:
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        return matched

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign: for the first of the contents. Raises ValueError where there is none for `body`."""
        content = next(iter(self._contents(body)), None)
        if content is None:
            raise ValueError("the provider posts no such body, so there is nothing to sign")
        signature = self._digest(self._keys[0], content).decode()
        return Post({self._header: signature, "content-type": self._content_type}, body)

    def _digest(self, key: bytes, content: bytes) -> bytes:
        return self._encode(hmac.digest(key, content, self._algorithm))


def base64_text(digest: bytes) -> bytes:
    """A digest as padded standard base64 text."""
    return base64.b64encode(digest)
