"""The scheme of providers that sign nothing: a password that we agreed on, in a header of every post.

A secret with a colon is `user:password` of HTTP Basic (providers put it there when the webhook's URL holds it). One
without is a token, taken as `Authorization: Bearer <token>` or as the header `X-Webhook-Token: <token>`, whichever the
provider lets its users set; where a post has both headers, one that is right is enough. The body is not covered, and a
replay cannot be told from the original.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from providers.base import Post, ProofRefused, Request
from providers.signatures import Refusal, is_among, which

AUTHORIZATION = "authorization"
TOKEN_HEADER = "x-webhook-token"  # noqa: S105 - the name of a header
BLANKS = " \t"


class Credentials:
    """Checks that a post carries one of `secrets`; `content_type` is that of the posts that `sign` makes."""

    def __init__(self, secrets: Sequence[str], content_type: str = "application/json") -> None:
        """Raises ValueError where there is no secret, or one that is empty or has no user or no password."""
        if not secrets or any(not one or one.startswith(":") or one.endswith(":") for one in secrets):
            raise ValueError("a provider needs at least one secret, and none may be empty or half of user:password")
        self._expected = [_lines_of(secret) for secret in secrets]
        self._first, self._content_type = secrets[0], content_type

    def verify(self, request: Request) -> str:
        """Which secret was presented ("1 of 2"). Raises ProofRefused with one of the words of `Refusal`."""
        presented = tuple(_presented(request.headers))
        if not presented:
            raise ProofRefused(Refusal.MISSING_HEADERS)
        matched = which(self._expected, lambda lines: any([is_among(one, presented) for one in lines]))
        if matched is None:
            raise ProofRefused(Refusal.BAD_CREDENTIALS)
        return matched

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign."""
        scheme, rest = _authorization_of(self._first)
        return Post({AUTHORIZATION: f"{scheme.capitalize()} {rest}", "content-type": self._content_type}, body)


def _authorization_of(secret: str) -> tuple[str, str]:
    if ":" in secret:
        return "basic", base64.b64encode(secret.encode()).decode()
    return "bearer", secret


def _lines_of(secret: str) -> tuple[bytes, ...]:
    """The header lines that present `secret`. Lines are compared whole, so that no header passes for another."""
    scheme, rest = _authorization_of(secret)
    authorization = _line(AUTHORIZATION, f"{scheme} {rest}")
    return (authorization,) if ":" in secret else (authorization, _line(TOKEN_HEADER, secret))


def _presented(headers: Mapping[str, str]) -> Iterator[bytes]:
    # The name of the scheme may be written in either case, with blanks behind it (RFC 9110, 11.4; RFC 7617, 2).
    scheme, _, rest = headers.get(AUTHORIZATION, "").strip(BLANKS).partition(" ")
    if scheme:
        yield _line(AUTHORIZATION, f"{scheme.lower()} {rest.strip(BLANKS)}")
    if token := headers.get(TOKEN_HEADER, "").strip(BLANKS):
        yield _line(TOKEN_HEADER, token)


def _line(name: str, value: str) -> bytes:
    return f"{name}: {value}".encode("utf-8", "surrogatepass")  # a header may be any text
