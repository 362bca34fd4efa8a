"""The scheme of providers that sign nothing: a password that we agreed on, in a header of every post.

A secret with a colon is `user:password` of HTTP Basic (providers put it there when the webhook's URL holds it). One
without is a token, taken as `Authorization: Bearer <token>` or as the header `X-Webhook-Token: <token>`, whichever the
provider lets its users set. The body is not covered, and a replay cannot be told from the original.
"""

import base64
import hmac
from collections.abc import Sequence
from datetime import datetime

from providers.base import Post, ProofRefused, Request
from providers.signatures import Refusal

TOKEN_HEADER = "x-webhook-token"  # noqa: S105 - the name of a header
MORE_THAN_ANY = 4096  # characters


class Credentials:
    """Checks that a post carries one of `secrets`; `content_type` is that of the posts that `sign` makes."""

    def __init__(self, secrets: Sequence[str], content_type: str = "application/json") -> None:
        """Raises ValueError where there is no secret or an empty one."""
        if not secrets or not all(secrets):
            raise ValueError("a provider needs at least one secret, and none may be empty")
        self._expected = [_texts(secret) for secret in secrets]
        self._first, self._content_type = secrets[0], content_type

    def verify(self, request: Request) -> str:
        """Which secret was presented ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        presented = [_authorization(request.headers.get("authorization", ""))]
        presented.append(request.headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogatepass"))
        if not any(presented):
            raise ProofRefused(Refusal.MISSING_HEADERS)
        for number, expected in enumerate(self._expected, start=1):
            if any([hmac.compare_digest(one, other) for one in expected for other in presented]):
                return f"{number} of {len(self._expected)}"
        raise ProofRefused(Refusal.BAD_CREDENTIALS)

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign."""
        scheme, _, rest = _texts(self._first)[0].decode().partition(" ")
        authorization = f"{scheme.capitalize()} {rest}"
        return Post({"authorization": authorization, "content-type": self._content_type}, body)


def _texts(secret: str) -> tuple[bytes, ...]:
    """The header texts that present `secret`, in the form in which they are compared."""
    if ":" in secret:
        return (b"basic " + base64.b64encode(secret.encode()),)
    return (b"bearer " + secret.encode(), secret.encode())


def _authorization(header: str) -> bytes:
    """An Authorization header with the name of its scheme in lower case, which HTTP lets anybody write as they like."""
    scheme, blank, rest = header[:MORE_THAN_ANY].strip().partition(" ")
    return f"{scheme.lower()}{blank}{rest.strip()}".encode("utf-8", "surrogatepass")
