"""The shared security cases for providers that speak SNS, and those that only such providers have.

The secrets are the listed topics; each one's messages are signed with a key whose certificate its topic pins.
"""

import json
from abc import abstractmethod
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.events import Kind
from providers.base import Normalised, Post, ProofRefused, ProofUnavailable, Provider, Request
from providers.signatures import Refusal
from providers.sns import LONGEST_AGE, LONGEST_AHEAD
from providers.sns_envelope import Signer
from tests.unit.providers.security_cases import SENT_AT, SecurityCases
from tests.unit.providers.sns_signing import CertificateHost, signer

TOKEN = "2336412f37fb687f5d51e6e2425e"


class SnsSecurityCases(SecurityCases):
    """Set `name`, `secret`, `next_secret` (topics), the URLs, and implement `made` and `host`.

    `certificate_url` is one that the first topic pins, `foreign_topic` one that anybody may have. The window is that of
    providers.sns, for the reasons given there.
    """

    signature_header = None
    window_s = int(LONGEST_AGE.total_seconds())
    future_s = int(LONGEST_AHEAD.total_seconds())
    certificate_url: str
    foreign_topic: str
    api: str

    @abstractmethod
    def host(self) -> CertificateHost:
        """Serves the certificates of the keys of both topics, and of the foreign one."""

    @abstractmethod
    def made(self, topics: tuple[str, ...], host: CertificateHost, test_signer: Signer | None) -> Provider:
        """The provider that believes `topics`."""

    @abstractmethod
    def signer_of(self, topic: str) -> Signer:
        """The key that signs the messages of `topic`."""

    def make(self, *secrets: str) -> Provider:
        return self.made(secrets, self.host(), self.signer_of(secrets[0]) if secrets else None)

    def without_proof(self, post: Post) -> Post:
        """The proof stands in the envelope."""
        fields = {name: value for name, value in json.loads(post.body).items() if name != "Signature"}
        return replace(post, body=json.dumps(fields).encode())

    def test_a_body_with_one_more_byte_at_its_end_is_refused_where_the_body_is_covered(self) -> None:
        """What is signed are the envelope's values: blanks around it mean nothing, anything else breaks the JSON."""
        provider, post = self.make(self.secret), self.post()
        blank, letter = replace(post, body=post.body + b"\r\n"), replace(post, body=post.body + b"x")

        assert provider.normalise(self.request(blank)) == provider.normalise(self.request(post))
        assert self.refusal(letter) == Refusal.MISSING_HEADERS

    def sealed(self, kind: str, **changes: Any) -> bytes:
        """A genuine envelope of a `kind` that confirms something, some of its fields changed before it is signed."""
        fields = {
            "Type": kind,
            "MessageId": "message-1",
            "Token": TOKEN,
            "TopicArn": self.secret,
            "Message": "You have chosen to subscribe.\nVisit the SubscribeURL.",
            "SubscribeURL": "https://example.net/?what=ever",
            "Timestamp": "2026-11-29T12:00:00.000Z",
            **changes,
        }
        return self.signer_of(self.secret).seal(fields)

    def test_a_subscription_is_confirmed_at_a_url_that_is_made_here(self) -> None:
        provider = self.make(self.secret)
        request = Request({}, self.sealed("SubscriptionConfirmation"), SENT_AT)
        arn = self.secret.replace(":", "%3A")

        assert provider.verify(request) == "1 of 1"
        assert provider.normalise(request) == Normalised(
            confirm_url=f"{self.api}?Action=ConfirmSubscription&TopicArn={arn}&Token={TOKEN}"
        )

    @pytest.mark.parametrize("field", ["SubscribeURL", "Token", "Message"])
    def test_a_confirmation_whose_fields_were_changed_is_refused(self, field: str) -> None:
        fields = json.loads(self.sealed("SubscriptionConfirmation"))
        fields[field] = "http://169.254.169.254/latest/meta-data/"

        assert self.refusal(Post({}, json.dumps(fields).encode())) == Refusal.BAD_SIGNATURE

    def test_an_unsubscription_never_subscribes_again(self, caplog: pytest.LogCaptureFixture) -> None:
        provider = self.make(self.secret)
        request = Request({}, self.sealed("UnsubscribeConfirmation"), SENT_AT)

        assert provider.verify(request) == "1 of 1"
        assert provider.normalise(request) == Normalised(counted={Kind.OTHER: 1})
        assert "unsubscribed" in caplog.text

    @pytest.mark.parametrize("kind", ["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"])
    def test_a_topic_of_somebody_else_is_refused_before_anything_is_fetched(self, kind: str) -> None:
        host = self.host()
        body = self.sealed(kind, TopicArn=self.foreign_topic)
        provider = self.made((self.secret,), host, None)
        with pytest.raises(ProofRefused, match=Refusal.BAD_CREDENTIALS):
            provider.verify(Request({"x-amz-sns-topic-arn": self.secret}, body, SENT_AT))

        assert host.asked == []
        assert provider.normalise(Request({}, body, SENT_AT)).confirm_url == ""

    def test_a_key_whose_certificate_is_not_the_one_named_signs_nothing(self) -> None:
        fields = json.loads(self.sealed("SubscriptionConfirmation"))
        stranger = signer("a stranger's key", self.certificate_url)

        assert self.refusal(Post({}, stranger.seal(fields))) == Refusal.BAD_SIGNATURE

    def test_a_certificate_that_cannot_be_had_is_no_refusal_and_is_asked_for_again(self) -> None:
        host = self.host()
        certificate = host.served.pop(self.certificate_url)
        provider = self.made((self.secret,), host, None)
        with pytest.raises(ProofUnavailable):
            provider.verify(self.request(self.post()))
        host.served[self.certificate_url] = certificate

        assert provider.verify(self.request(self.post())) == "1 of 1"

    def test_without_a_key_of_our_own_no_post_can_be_signed_and_the_reason_says_what_to_do(self) -> None:
        with pytest.raises(ValueError, match="instead send a mail"):
            self.made((self.secret,), self.host(), None).sign(b"{}", "message-1", SENT_AT)

    def test_a_message_without_its_envelope_is_refused(self) -> None:
        body = self.make(self.secret).sample(Kind.HARD_BOUNCE, "jane@example.com", "evt_1", SENT_AT)

        assert self.refusal(Post({"x-amz-sns-rawdelivery": "true"}, body)) == Refusal.MISSING_HEADERS

    def test_a_message_that_was_redriven_days_later_is_accepted(self) -> None:
        request = self.request(self.post())

        assert self.make(self.secret).verify(replace(request, received_at=SENT_AT + timedelta(days=13))) == "1 of 1"
