"""Scaleway Transactional Email: what each of its events comes to, and which certificates are believed."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from config.settings import load
from core.events import Event, Kind
from providers import scaleway
from providers.base import Normalised, Post, ProofRefused, ProofUnavailable, Provider, Request
from providers.signatures import Refusal
from providers.sns_envelope import Signer
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import COUNTED, JANE, PARKED, assert_comes_to, only_event
from tests.unit.providers.security_cases import SENT_AT
from tests.unit.providers.sns_cases import SnsSecurityCases
from tests.unit.providers.sns_signing import CertificateHost, pem, rsa_key, signer

TOPIC = "arn:scw:sns:fr-par:project-00000000-0000-4000-8000-000000000001:mail-events"
OTHER_TOPIC = "arn:scw:sns:nl-ams:project-00000000-0000-4000-8000-000000000001:mail-events"
FOREIGN_TOPIC = "arn:scw:sns:fr-par:project-99999999-0000-4000-8000-000000000009:mine"
BUCKET = "https://messaging.s3.fr-par.scw.cloud"

RECORDED = {
    "mailbox_not_found": (Kind.HARD_BOUNCE, "scaleway.mailbox_not_found"),
    "mailbox_not_found_nobody": (PARKED, "hard_bounce without a single recipient"),
    "dropped": (Kind.SOFT_BOUNCE, "scaleway.dropped"),
    "deferred": (Kind.DEFERRED, "scaleway.deferred"),
    "delivered": (Kind.DELIVERED, "scaleway.delivered"),
    "blocklisted": (Kind.REJECTED, "scaleway.blocklisted"),
    "blocklist_created": (COUNTED, Kind.OTHER),
    "spam": (COUNTED, Kind.OTHER),
    "queued": (COUNTED, Kind.OTHER),
    "unknown_type": (COUNTED, Kind.OTHER),
    "invented_type": (COUNTED, Kind.OTHER),
    "nulls": (Kind.HARD_BOUNCE, "scaleway.mailbox_not_found"),
    "without_type": (PARKED, "the event has no type"),
    "envelope_mailbox_not_found": (Kind.HARD_BOUNCE, "scaleway.mailbox_not_found"),
    "envelope_not_json": (PARKED, "the body is not JSON"),
    "unsubscribe_confirmation": (COUNTED, Kind.OTHER),
}


def region(topic: str) -> str:
    return topic.split(":")[3]


def certificate_url(topic: str) -> str:
    return f"{BUCKET}/{region(topic)}/sns/sns_certificate_1.crt"


def chain_url(topic: str) -> str:
    return f"{BUCKET}/{region(topic)}/sns/sns-trust-chain.pem"


def issued(topic: str) -> bytes:
    """The certificate of a topic's key, from the intermediate authority."""
    return pem(rsa_key(topic), name=topic[:20], issuer=("intermediate", rsa_key("intermediate")))


def chain() -> bytes:
    root = pem(rsa_key("root"), name="root")
    return root + b"\n" + pem(rsa_key("intermediate"), name="intermediate", issuer=("root", rsa_key("root")))


def certificate_host() -> CertificateHost:
    topics = (TOPIC, OTHER_TOPIC)
    return CertificateHost(
        {certificate_url(topic): issued(topic) for topic in topics} | {chain_url(topic): chain() for topic in topics}
    )


class TestSecurity(SnsSecurityCases):
    name = "scaleway"
    secret = TOPIC
    next_secret = OTHER_TOPIC
    foreign_topic = FOREIGN_TOPIC
    certificate_url = certificate_url(TOPIC)
    api = "https://sns.mnq.fr-par.scaleway.com/"
    kinds_never_told = frozenset({Kind.ACCEPTED, Kind.COMPLAINT, Kind.UNSUBSCRIBED})

    def host(self) -> CertificateHost:
        return certificate_host()

    def made(self, topics: tuple[str, ...], host: CertificateHost, test_signer: Signer | None) -> Provider:
        return scaleway.composed(topics, host, signer=test_signer)

    def signer_of(self, topic: str) -> Signer:
        return signer(topic, certificate_url(topic))

    def post(self, secret: str = "", kind: Kind = Kind.HARD_BOUNCE) -> Post:
        """Scaleway tells no complaints."""
        return super().post(secret, kind)

    def test_a_certificate_that_scaleway_did_not_issue_is_refused(self) -> None:
        host = self.host()
        host.served[self.certificate_url] = pem(rsa_key(TOPIC), issuer=("intermediate", rsa_key("a stranger's key")))
        provider = self.made((TOPIC,), host, None)
        for _ in range(2):
            with pytest.raises(ProofRefused, match=Refusal.BAD_SIGNATURE):
                provider.verify(self.request(self.post()))

        assert host.asked == [self.certificate_url, chain_url(TOPIC)] * 2

    def test_a_certificate_of_an_issuer_that_has_expired_is_refused(self) -> None:
        host = self.host()
        ended = datetime(2026, 11, 1, tzinfo=UTC)
        host.served[chain_url(TOPIC)] = pem(rsa_key("intermediate"), name="intermediate", ends=ended)
        provider = self.made((TOPIC,), host, None)
        with pytest.raises(ProofRefused, match=Refusal.BAD_SIGNATURE):
            provider.verify(self.request(self.post()))

    @pytest.mark.parametrize("served", [None, b"", b"<html>"])
    def test_a_chain_that_cannot_be_had_is_no_refusal(self, served: bytes | None) -> None:
        host = self.host()
        del host.served[chain_url(TOPIC)]
        if served is not None:
            host.served[chain_url(TOPIC)] = served
        provider = self.made((TOPIC,), host, None)
        with pytest.raises(ProofUnavailable):
            provider.verify(self.request(self.post()))

    def test_certificate_and_chain_are_fetched_once(self) -> None:
        host = self.host()
        provider = self.made((TOPIC,), host, None)
        for _ in range(3):
            provider.verify(self.request(self.post()))

        assert host.asked == [self.certificate_url, chain_url(TOPIC)]

    @pytest.mark.parametrize(
        "url",
        [
            "http://messaging.s3.fr-par.scw.cloud/fr-par/sns/sns_certificate_1.crt",
            "https://attacker.s3.fr-par.scw.cloud/fr-par/sns/sns_certificate_1.crt",
            "https://messaging.s3.nl-ams.scw.cloud/fr-par/sns/sns_certificate_1.crt",
            "https://messaging.s3.fr-par.scw.cloud.example.net/fr-par/sns/sns_certificate_1.crt",
            "https://messaging.s3.fr-par.scw.cloud@example.net/sns_certificate_1.crt",
            "https://user@messaging.s3.fr-par.scw.cloud/fr-par/sns/sns_certificate_1.crt",
            "https://messaging.s3.fr-par.scw.cloud:8443/fr-par/sns/sns_certificate_1.crt",
            "https://messaging.s3.fr-par.scw.cloud\\@example.net/sns_certificate_1.crt",
            "https://s3.fr-par.scw.cloud/messaging/fr-par/sns/sns_certificate_1.crt",
            "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem",
            f"{BUCKET}/fr-par/sns/../../attacker/x.crt",
            f"{BUCKET}/fr-par/sns/sns_certificate_1.crt?versionId=1",
            f"{BUCKET}/fr-par/sns/sns_certificate_1.crt#x",
            f"{BUCKET}/fr-par/sns/sns_certificate_1.crt\n",
            f"{BUCKET}/fr-par/sns/sns_certificate_1",
            f"{BUCKET}/.crt",
            BUCKET,
        ],
    )
    def test_a_certificate_anywhere_else_is_not_even_fetched(self, url: str) -> None:
        host = self.host()
        body = json.dumps(json.loads(self.post().body) | {"SigningCertURL": url}).encode()
        with pytest.raises(ProofRefused, match=Refusal.BAD_SIGNATURE):
            self.made((TOPIC,), host, None).verify(Request({}, body, SENT_AT))

        assert host.asked == []


@pytest.mark.parametrize("arn", ["arn:aws:sns:eu-west-1:123456789012:ses", "arn:scw:sns:fr-par.example.net/:x:y", "x"])
def test_a_topic_of_anybody_else_is_named_at_boot(arn: str) -> None:
    with pytest.raises(ValueError, match="SCALEWAY_TOPIC_ARNS holds"):
        scaleway.composed((arn,), CertificateHost({}))


def read(body: bytes, **options: Any) -> Normalised:
    return scaleway.composed((TOPIC,), CertificateHost({}), **options).normalise(posted(body))


def changed(name: str, field: str, value: object) -> bytes:
    return json.dumps(json.loads(recorded("scaleway", name)) | {field: value}).encode()


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("scaleway") == {*RECORDED, "subscription_confirmation"}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[str, str]) -> None:
    assert_comes_to(read(recorded("scaleway", name)), expected)


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("scaleway", "envelope_mailbox_not_found"))) == Event(
        event_id="scaleway:af5c1aac-event-mailbox-not-found",
        provider="scaleway",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="scaleway.mailbox_not_found",
        provider_message_id="d4fbec9d-mail-1",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="550; 5.1.1 no such user",
    )


@pytest.mark.parametrize("kind", [Kind.HARD_BOUNCE, Kind.SOFT_BOUNCE])
def test_whether_a_dropped_mail_is_a_hard_bounce_is_a_setting(kind: Kind) -> None:
    said = read(recorded("scaleway", "dropped"), dropped_is_hard=kind is Kind.HARD_BOUNCE)

    assert only_event(said).kind is kind


def test_the_verdict_of_a_filter_or_a_reader_is_no_complaint() -> None:
    assert read(recorded("scaleway", "spam"), dropped_is_hard=True) == Normalised(counted={Kind.OTHER: 1})


@pytest.mark.parametrize("own_id", [None, "", [], {}, True])
def test_without_its_own_id_an_event_has_that_of_the_envelope(own_id: object) -> None:
    event = changed("mailbox_not_found", "id", own_id).decode()
    fields = {"Type": "Notification", "MessageId": "message-1", "Message": event, "TopicArn": TOPIC}

    assert only_event(read(json.dumps(fields).encode())).event_id == "scaleway:message-1"


def test_without_any_id_the_same_event_has_the_same_one_and_others_have_others() -> None:
    once, again = (only_event(read(recorded("scaleway", "nulls"))) for _ in range(2))
    other = only_event(read(changed("nulls", "email_to", "john@example.org")))

    assert once.event_id == again.event_id != other.event_id


@pytest.mark.parametrize("recipient", [None, "", 5, [JANE], f"{JANE}, john@example.org", "jane\u200b@example.com"])
def test_a_removal_that_names_no_single_recipient_is_parked(recipient: object) -> None:
    said = read(changed("mailbox_not_found", "email_to", recipient))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


@pytest.mark.parametrize(
    "headers", [None, "x", {}, [None, "x", {}, {"key": 5, "value": "x"}, {"key": "X-Mailward-Env"}]]
)
def test_odd_headers_of_the_mail_are_as_good_as_none(headers: object) -> None:
    assert only_event(read(changed("mailbox_not_found", "email_headers", headers))).environment == ""


def test_the_settings_reach_the_provider() -> None:
    environ = {"SCALEWAY_TOPIC_ARNS": TOPIC, "SCALEWAY_DROPPED_IS_HARD": "true", "ADDRESS_KEEP_LOCAL_CASE": "true"}
    made = scaleway.make(load(environ), CertificateHost({}))
    assert made is not None
    event = only_event(made.normalise(posted(changed("dropped", "email_to", "Jane@Example.com"))))

    assert (event.kind, event.recipient) == (Kind.HARD_BOUNCE, "Jane@example.com")


def test_without_a_topic_the_provider_does_not_exist() -> None:
    assert scaleway.make(load({}), CertificateHost({})) is None
