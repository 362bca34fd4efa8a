"""Security cases that the tests of every provider must inherit: no provider can forget one.

A subclass says how its provider is made with given secrets and what its scheme promises; every case then runs, and
where a scheme promises less, the case asserts just that, so that the limit stands in the tests and not in a memory.
"""

import hmac
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.events import Kind
from providers.base import Post, ProofRefused, Provider, Request
from providers.signatures import Refusal

SENT_AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEXT_SECRET = "whsec_plJ3nmyCDGBKInavdOK15jsl"
WRONG_PROOF = {Refusal.BAD_SIGNATURE, Refusal.BAD_CREDENTIALS}
YEAR_S = 365 * 86_400


class SecurityCases(ABC):
    """Inherit, set what differs, implement `make`, and all cases run for that provider.

    `name` is the provider's. `secret` and `next_secret` are what `make` is given. `signature_header` carries the proof,
    None where the body does. `covers_body`: one changed byte is noticed. `window_s`: a genuine post may be so old, None
    for ever; `future_s` likewise ahead of our clock. `kinds_never_told` are those that the provider has no event for.
    """

    name: str
    secret: str = SECRET
    next_secret: str = NEXT_SECRET
    signature_header: str | None
    covers_body: bool = True
    kinds_never_told: frozenset[Kind] = frozenset()
    window_s: int | None = 300
    future_s: int | None = 300

    @abstractmethod
    def make(self, *secrets: str) -> Provider:
        """The provider with `secrets`, which must be able to sign with the first."""

    def post(self, secret: str = "", kind: Kind = Kind.COMPLAINT) -> Post:
        """A genuine post, signed with `secret`."""
        provider = self.make(secret or self.secret)
        return provider.sign(provider.sample(kind, "jane@example.com", "evt_1", SENT_AT), "evt_1", SENT_AT)

    def request(self, post: Post, *, age_s: int = 0) -> Request:
        return Request(post.headers, post.body, SENT_AT + timedelta(seconds=age_s))

    def refusal(self, post: Post, *, age_s: int = 0) -> str:
        """Why the post is refused. A refused post is never normalised, so nothing can come of it: verify raises."""
        with pytest.raises(ProofRefused) as refused:
            self.make(self.secret).verify(self.request(post, age_s=age_s))
        return refused.value.reason

    def with_header(self, post: Post, value: str) -> Post:
        assert self.signature_header is not None
        return replace(post, headers={**post.headers, self.signature_header: value})

    def changed(self, post: Post) -> Post:
        """The same post with one changed byte of the content that the proof should cover."""
        assert b"jane@" in post.body
        return replace(post, body=post.body.replace(b"jane@", b"jana@"))

    def without_proof(self, post: Post) -> Post:
        return replace(post, headers=_only_content_type(post.headers))

    def test_a_genuine_post_is_accepted(self) -> None:
        assert self.make(self.secret).verify(self.request(self.post())) == "1 of 1"

    def test_a_post_without_proof_is_refused(self) -> None:
        assert self.refusal(self.without_proof(self.post())) == Refusal.MISSING_HEADERS

    def test_a_home_made_secret_header_is_no_proof(self) -> None:
        post = self.without_proof(self.post())
        post = replace(post, headers={**post.headers, "x-webhook-secret": self.secret, "x-api-key": self.secret})

        assert self.refusal(post) == Refusal.MISSING_HEADERS

    def test_a_post_signed_with_another_secret_is_refused(self) -> None:
        assert self.refusal(self.post(self.next_secret)) in WRONG_PROOF

    def test_a_changed_body_is_refused_or_the_scheme_is_known_not_to_cover_it(self) -> None:
        changed = self.changed(self.post())
        if self.covers_body:
            assert self.refusal(changed) in WRONG_PROOF
        else:
            assert self.make(self.secret).verify(self.request(changed)) == "1 of 1"

    def test_a_body_with_one_more_byte_at_its_end_is_refused_where_the_body_is_covered(self) -> None:
        post = self.post()
        if self.covers_body:
            assert self.refusal(replace(post, body=post.body + b"\r\n")) in WRONG_PROOF

    def test_a_stale_post_is_told_from_a_forged_one_or_no_time_is_signed(self) -> None:
        if self.window_s is None:
            assert self.make(self.secret).verify(self.request(self.post(), age_s=YEAR_S)) == "1 of 1"
            return
        assert self.make(self.secret).verify(self.request(self.post(), age_s=self.window_s)) == "1 of 1"
        assert self.refusal(self.post(), age_s=self.window_s + 1) == Refusal.STALE
        assert self.refusal(self.post(self.next_secret), age_s=self.window_s + 1) in WRONG_PROOF

    def test_a_post_from_the_future_is_refused_or_no_time_is_signed(self) -> None:
        if self.future_s is None:
            assert self.make(self.secret).verify(self.request(self.post(), age_s=-YEAR_S)) == "1 of 1"
            return
        assert self.make(self.secret).verify(self.request(self.post(), age_s=-self.future_s)) == "1 of 1"
        assert self.refusal(self.post(), age_s=-self.future_s - 1) == Refusal.FROM_THE_FUTURE

    @pytest.mark.parametrize("signature", ["v1,%%%", "v1,AAA", "%%%", "AAA=", "\u00ff\u00fe", "\ud800", "", "0" * 9000])
    def test_a_malformed_proof_is_refused_and_never_an_error(self, signature: str) -> None:
        if self.signature_header is not None:
            refusal = self.refusal(self.with_header(self.post(), signature))
            assert refusal in {*WRONG_PROOF, Refusal.MISSING_HEADERS, Refusal.DUPLICATE_HEADERS}

    def test_two_proofs_in_one_header_are_refused(self) -> None:
        if self.signature_header is not None:
            post = self.post()
            proof = post.headers[self.signature_header]
            refusal = self.refusal(self.with_header(post, f"{proof}, {proof}"))
            assert refusal in {*WRONG_PROOF, Refusal.DUPLICATE_HEADERS}

    def test_two_secrets_live_at_once_while_one_replaces_the_other(self) -> None:
        provider = self.make(self.next_secret, self.secret)

        assert provider.verify(self.request(self.post())) == "2 of 2"
        assert provider.verify(self.request(self.post(self.next_secret))) == "1 of 2"

    @pytest.mark.parametrize("kept", [True, False])
    def test_without_a_secret_or_with_an_empty_one_there_is_no_provider(self, kept: bool) -> None:
        secrets = (self.secret, "") if kept else ()

        with pytest.raises(ValueError, match=r"secret|key"):
            self.make(*secrets)

    def test_a_proof_made_with_the_empty_secret_opens_no_door(self) -> None:
        if self.signature_header is None:
            return
        post = self.post()
        for algorithm in ("sha1", "sha256"):
            assert self.refusal(self.with_header(post, hmac.digest(b"", post.body, algorithm).hex())) in WRONG_PROOF

    def test_bytes_that_are_no_text_are_parked_with_a_right_proof(self) -> None:
        provider = self.make(self.secret)
        body = self.unreadable()
        try:
            post = provider.sign(body, "evt_1", SENT_AT)
        except ValueError:  # a proof that stands in the body cannot be put into one that is no text
            assert self.signature_header is None
            assert self.refusal(Post({}, body)) in {*WRONG_PROOF, Refusal.MISSING_HEADERS}
            return
        assert provider.verify(self.request(post)) == "1 of 1"
        assert [item.index for item in provider.normalise(self.request(post)).parked] == [-1]

    def unreadable(self) -> bytes:
        """A body that nobody can read."""
        return b'{"email":"\xff\xfe"}'

    @pytest.mark.parametrize("kind", Kind)
    def test_a_sample_of_every_kind_is_genuine_and_means_that_kind(self, kind: Kind) -> None:
        provider = self.make(self.secret)
        if kind in self.kinds_never_told:
            with pytest.raises(ValueError, match="no event for"):
                provider.sample(kind, "jane@example.com", "evt_1", SENT_AT)
            return
        body = provider.sample(kind, "jane@example.com", "evt_1", SENT_AT)
        request = self.request(provider.sign(body, "evt_1", SENT_AT))
        said = provider.normalise(request)

        assert provider.verify(request) == "1 of 1"
        assert not said.parked
        assert ([event.kind for event in said.events] or [*said.counted]) == [kind]
        assert all(event.recipient == "jane@example.com" for event in said.events)

    def test_the_same_post_read_twice_says_the_same(self) -> None:
        provider = self.make(self.secret)
        request = self.request(self.post())

        assert provider.normalise(request) == provider.normalise(request)

    def test_a_parked_post_is_read_alike_with_only_the_headers_that_were_kept(self) -> None:
        provider = self.make(self.secret)
        post = self.post()
        request = self.request(replace(post, headers={**post.headers, "cookie": "x"}))
        kept = Request(provider.kept_headers(request), post.body, request.received_at)

        assert provider.normalise(kept) == provider.normalise(request)
        assert self.signature_header not in kept.headers
        assert "cookie" not in kept.headers
        assert "authorization" not in kept.headers


def _only_content_type(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name == "content-type"}
