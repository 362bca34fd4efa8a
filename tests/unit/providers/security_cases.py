"""Security cases that the tests of every provider must inherit: no provider can forget one.

A subclass says how its provider is made with given secrets, and which of its headers carry the proof.
"""

from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta

import pytest

from core.events import REMOVING, Kind
from providers.base import ProofRefused, Provider, Request
from providers.signatures import Refusal

SENT_AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEXT_SECRET = "whsec_plJ3nmyCDGBKInavdOK15jsl"
BODY = b'{"type": "email.complained",  "z":1, "caf\\u00e9": "\xc3\xa9"}\r\n'


class SecurityCases(ABC):
    """Inherit, implement `make` and `signature_header`, and all cases run for that provider."""

    signature_header: str

    @abstractmethod
    def make(self, *secrets: str) -> Provider:
        """The provider with `secrets` and a window of 300 s."""

    def genuine(self, body: bytes = BODY, secret: str = SECRET) -> dict[str, str]:
        return self.make(secret).sign(body, "msg_1", SENT_AT)

    def refusal(self, headers: dict[str, str], body: bytes = BODY, *, age_s: int = 0) -> str:
        """Why the post is refused. A refused post is never normalised, so nothing can come of it: verify raises."""
        with pytest.raises(ProofRefused) as refused:
            self.make(SECRET).verify(Request(headers, body, SENT_AT + timedelta(seconds=age_s)))
        return refused.value.reason

    def test_a_genuine_post_is_accepted(self) -> None:
        assert self.make(SECRET).verify(Request(self.genuine(), BODY, SENT_AT)) == "1 of 1"

    def test_a_post_without_proof_is_refused(self) -> None:
        assert self.refusal({}) == Refusal.MISSING_HEADERS

    def test_a_home_made_secret_header_is_no_proof(self) -> None:
        assert (
            self.refusal({"authorization": f"Bearer {SECRET}", "x-webhook-secret": SECRET}) == Refusal.MISSING_HEADERS
        )

    def test_a_post_signed_with_another_secret_is_refused(self) -> None:
        assert self.refusal(self.genuine(secret=NEXT_SECRET)) == Refusal.BAD_SIGNATURE

    def test_one_changed_byte_is_refused(self) -> None:
        assert self.refusal(self.genuine(), BODY.replace(b'"z":1', b'"z":2')) == Refusal.BAD_SIGNATURE

    def test_the_same_json_written_anew_is_refused(self) -> None:
        assert self.refusal(self.genuine(), BODY.replace(b":  ", b":").strip()) == Refusal.BAD_SIGNATURE

    def test_a_stale_post_is_told_from_a_forged_one(self) -> None:
        assert self.refusal(self.genuine(), age_s=301) == Refusal.STALE
        assert self.refusal(self.genuine(), b"{}", age_s=301) == Refusal.BAD_SIGNATURE

    def test_a_post_from_the_future_is_refused(self) -> None:
        assert self.refusal(self.genuine(), age_s=-301) == Refusal.FROM_THE_FUTURE

    @pytest.mark.parametrize("signature", ["v1,%%%", "v1,AAA", "\u00ff\u00fe", "\ud800", "v1", ""])
    def test_a_malformed_signature_is_refused_and_never_an_error(self, signature: str) -> None:
        assert self.refusal({**self.genuine(), self.signature_header: signature}) in {
            Refusal.BAD_SIGNATURE,
            Refusal.MISSING_HEADERS,
        }

    def test_two_secrets_live_at_once_while_one_replaces_the_other(self) -> None:
        provider = self.make(NEXT_SECRET, SECRET)

        assert provider.verify(Request(self.genuine(), BODY, SENT_AT)) == "2 of 2"
        assert provider.verify(Request(self.genuine(secret=NEXT_SECRET), BODY, SENT_AT)) == "1 of 2"

    def test_a_rotated_away_secret_no_longer_opens_the_door(self) -> None:
        assert self.refusal(self.genuine(secret=NEXT_SECRET)) == Refusal.BAD_SIGNATURE

    @pytest.mark.parametrize("secrets", [(), ("",), (SECRET, "")])
    def test_without_a_secret_there_is_no_provider(self, secrets: tuple[str, ...]) -> None:
        with pytest.raises(ValueError, match="secret"):
            self.make(*secrets)

    def test_bytes_that_are_no_text_are_refused_with_a_wrong_signature(self) -> None:
        assert self.refusal(self.genuine(), b'{"email":"\xff\xfe"}') == Refusal.BAD_SIGNATURE

    def test_bytes_that_are_no_text_are_parked_with_a_right_signature(self) -> None:
        body = b'{"email":"\xff\xfe"}'
        request = Request(self.genuine(body), body, SENT_AT)
        provider = self.make(SECRET)

        assert provider.verify(request) == "1 of 1"
        assert [item.index for item in provider.normalise(request).parked] == [-1]

    @pytest.mark.parametrize("kind", Kind)
    def test_a_sample_of_every_kind_is_genuine_and_means_that_kind(self, kind: Kind) -> None:
        provider = self.make(SECRET)
        try:
            body = provider.sample(kind, "jane@example.com", "evt_1", SENT_AT)
        except ValueError:
            assert kind not in REMOVING
            return
        request = Request(provider.sign(body, "evt_1", SENT_AT), body, SENT_AT)
        said = provider.normalise(request)

        assert provider.verify(request) == "1 of 1"
        assert not said.parked
        assert ([event.kind for event in said.events] or [*said.counted]) == [kind]

    def test_a_parked_post_is_read_alike_with_only_the_headers_that_were_kept(self) -> None:
        provider = self.make(SECRET)
        body = provider.sample(Kind.COMPLAINT, "jane@example.com", "evt_1", SENT_AT)
        request = Request({**provider.sign(body, "evt_1", SENT_AT), "cookie": "x"}, body, SENT_AT)
        kept = Request(provider.kept_headers(request), body, SENT_AT)

        assert provider.normalise(kept) == provider.normalise(request)
        assert self.signature_header not in kept.headers
        assert "cookie" not in kept.headers
