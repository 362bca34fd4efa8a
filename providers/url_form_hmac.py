"""Mandrill's scheme: HMAC-SHA1 over the webhook's URL and the fields of the posted form.

Pure. Source: "Authenticating webhook requests", mandrill.zendesk.com/hc/en-us/articles/205583257.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from providers import url_form
from providers.base import PUBLIC_TEST, Post, ProofRefused, Request
from providers.hmac_body import HmacBody, base64_text
from providers.signatures import Refusal

HEADER = "x-mandrill-signature"
FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 10  # Mandrill posts one

# The test post of a webhook that is being added has no event, and this public key signs it, as nobody has another yet.
TEST_KEY = "test-webhook"
TEST_FORM = {b"mandrill_events": b"[]"}
LONGEST_TEST = 100  # bytes


def fields(body: bytes) -> dict[bytes, bytes] | None:
    """The fields of a form as names and values of bytes, percent-decoded once; None where `body` is no form, has more
    than `MOST_FIELDS` or names one twice."""
    try:
        pairs = url_form.pairs(body, MOST_FIELDS)
    except ValueError:
        return None
    found = dict(pairs)
    return found if len(found) == len(pairs) else None


class UrlFormHmac:
    """Verifies and makes the header X-Mandrill-Signature.

    `keys` are the webhooks' keys as they are, `urls` their public URLs exactly as registered, of which any may have
    been posted to: what this process sees of its URL behind a proxy is not what was signed. No time is signed, so a
    replay is possible for ever.
    """

    def __init__(self, keys: Sequence[str], urls: Sequence[str]) -> None:
        """Raises ValueError where there is no key, an empty one, or no URL."""
        if not urls:
            raise ValueError("the keys are of no use without the URLs of the webhooks")
        self._urls = [url.encode() for url in urls]
        self._real = HmacBody(HEADER, keys, "sha1", base64_text, self._contents, FORM)
        self._test = HmacBody(HEADER, (TEST_KEY,), "sha1", base64_text, self._contents, FORM)

    def verify(self, request: Request) -> str:
        """Which key signed `request` ("1 of 2"); the public test key does for an empty list alone. Raises ProofRefused
        with one of the words of `Refusal`."""
        try:
            return self._real.verify(request)
        except ProofRefused as refused:
            if refused.reason != Refusal.BAD_SIGNATURE or not _is_empty(request.body):
                raise
        self._test.verify(request)
        return PUBLIC_TEST

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign: for the first URL. Raises ValueError for a body that is no form."""
        if fields(body) is None:
            raise ValueError("Mandrill posts forms: the body must be mandrill_events=, then percent-encoded JSON")
        return self._real.sign(body, message_id, sent_at)

    def _contents(self, body: bytes) -> Iterator[bytes]:
        found = fields(body)
        if found is None:
            return
        form = b"".join(name + found[name] for name in sorted(found))
        for url in self._urls:
            yield url + form


def _is_empty(body: bytes) -> bool:
    return len(body) <= LONGEST_TEST and fields(body) == TEST_FORM
