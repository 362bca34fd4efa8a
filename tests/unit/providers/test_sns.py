"""The scheme of SNS by itself: what is signed, whose certificate is believed, and what is never fetched."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import responses

from providers import ses
from providers.base import Normalised, ProofRefused, ProofUnavailable, Request
from providers.credentials import Credentials
from providers.entry import Fetch
from providers.fetching import MOST_BYTES, https_get
from providers.signatures import Refusal
from providers.sns import Sns
from providers.sns_certificates import MOST_KEPT, Certificates
from providers.sns_envelope import Notice, envelope, signed_bytes
from providers.sns_topics import Topics
from tests.unit.providers.security_cases import SENT_AT
from tests.unit.providers.sns_signing import CertificateHost, ecdsa_key, pem, rsa_key, signer

TOPIC = "arn:aws:sns:eu-west-1:123456789012:ses-feedback"
HOST = "https://sns.eu-west-1.amazonaws.com"
PATH = "/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
URL = HOST + PATH
CREDENTIALS = "sns:a-long-enough-password"


def certificate_host() -> CertificateHost:
    return CertificateHost({URL: pem(rsa_key("sns"))})


def scheme(fetch: Fetch, *topics: str, raw: Credentials | None = None) -> Sns:
    return Sns(Topics(topics or (TOPIC,), ses.pin_of), Certificates(fetch), raw=raw)


def notification(**changes: Any) -> dict[str, Any]:
    return {
        "Type": "Notification",
        "MessageId": "message-1",
        "TopicArn": TOPIC,
        "Message": '{"notificationType":"Bounce"}',
        "Timestamp": "2026-11-29T12:00:00.000Z",
        **changes,
    }


def sealed(version: str = "2", **changes: Any) -> dict[str, Any]:
    """The fields of a genuine notification, some of them changed before it was signed."""
    return json.loads(signer("sns", URL).seal(notification(**changes), version))


def request(fields: dict[str, Any], **headers: str) -> Request:
    return Request(headers, json.dumps(fields).encode(), SENT_AT)


def refusal(fields: dict[str, Any], host: CertificateHost | None = None) -> str:
    with pytest.raises(ProofRefused) as refused:
        scheme(host or certificate_host()).verify(request(fields))
    return refused.value.reason


@pytest.mark.parametrize("version", ["1", "2"])
def test_both_signature_versions_are_checked(version: str) -> None:
    assert scheme(certificate_host()).verify(request(sealed(version))) == "1 of 1"


@pytest.mark.parametrize(
    ("signed_as", "labelled"),
    [("1", "2"), ("2", "1"), *(("2", odd) for odd in ("3", "0", "", "02", " 2", 2, 2.0, None, ["2"]))],
)
def test_a_signature_version_means_one_digest_and_no_other_is_tried(signed_as: str, labelled: object) -> None:
    assert refusal(sealed(signed_as) | {"SignatureVersion": labelled}) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(
    "url",
    [
        f"http://sns.eu-west-1.amazonaws.com{PATH}",
        f"https://sns.s3-ap-southeast-2.amazonaws.com{PATH}",
        f"https://sns.us-east-1.amazonaws.com{PATH}",
        f"https://sns.eu-west-1.amazonaws.com.cn{PATH}",
        f"https://sns.eu-west-1.amazonaws.com.example.net{PATH}",
        f"https://example.net/sns.eu-west-1.amazonaws.com{PATH}",
        f"https://snsxeu-west-1.amazonaws.com{PATH}",
        f"https://user@sns.eu-west-1.amazonaws.com{PATH}",
        f"https://sns.eu-west-1.amazonaws.com:443{PATH}",
        f"https://sns.eu-west-1.amazonaws.com:8443{PATH}",
        f"https://sns.eu-west-1.amazonaws.com@example.net{PATH}",
        f"https://sns.eu-west-1.amazonaws.com\\@example.net{PATH}",
        f"HTTPS://SNS.eu-west-1.amazonaws.com{PATH}",
        f"{URL}\n",
        f" {URL}",
        f"{URL}?x=1",
        f"{URL}#x",
        f"{URL}/../other.pem",
        f"{HOST}/x/..{PATH}",
        f"{HOST}/SimpleNotificationService-..%2f0123456789.pem",
        f"{HOST}/SimpleNotificationService-.pem",
        f"{HOST}/SimpleNotificationService-0123456789abcdef.pem.txt",
        f"{HOST}//SimpleNotificationService-0123456789abcdef.pem",
        f"{HOST}/?Action=GetTopicAttributes",
        f"{HOST}/",
        "",
    ],
)
def test_a_certificate_anywhere_but_at_the_host_of_the_topics_region_is_not_even_fetched(url: str) -> None:
    host = certificate_host()

    assert refusal(sealed() | {"SigningCertURL": url}, host) == Refusal.BAD_SIGNATURE
    assert host.asked == []


@pytest.mark.parametrize(
    ("topic", "host"),
    [
        ("arn:aws:sns:us-east-1:123456789012:ses", "https://sns.us-east-1.amazonaws.com/"),
        ("arn:aws-us-gov:sns:us-gov-west-1:123456789012:ses", "https://sns.us-gov-west-1.amazonaws.com/"),
        ("arn:aws-cn:sns:cn-north-1:123456789012:ses", "https://sns.cn-north-1.amazonaws.com.cn/"),
    ],
)
def test_each_topic_pins_the_host_of_its_region_and_partition(topic: str, host: str) -> None:
    pin = ses.pin_of(topic)

    assert pin.api == host
    assert pin.certificates.fullmatch(f"{host}{PATH[1:]}")


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sns:s3-ap-southeast-2:123456789012:ses",
        "arn:aws:sns::123456789012:ses",
        "arn:aws:sqs:eu-west-1:123456789012:ses",
        "arn:scw:sns:fr-par:project-1:ses",
        "arn:aws:sns:eu-west-1.example.net/:123456789012:ses",
        f"{TOPIC}\n:x",
    ],
)
def test_a_topic_that_cannot_be_pinned_is_named_at_boot(arn: str) -> None:
    with pytest.raises(ValueError, match="SES_TOPIC_ARNS holds"):
        Topics((arn,), ses.pin_of)


@pytest.mark.parametrize(
    "topic", ["arn:aws:sns:us-east-1:999999999999:mine", f"{TOPIC} ", TOPIC.upper(), "", None, [TOPIC]]
)
def test_a_topic_that_is_not_listed_is_refused_with_nothing_fetched(topic: object) -> None:
    host = certificate_host()

    assert refusal(sealed() | {"TopicArn": topic}, host) == Refusal.BAD_CREDENTIALS
    assert host.asked == []


def test_headers_decide_nothing() -> None:
    fields = sealed() | {"TopicArn": "arn:aws:sns:us-east-1:999999999999:mine"}
    with pytest.raises(ProofRefused):
        scheme(certificate_host()).verify(request(fields, **{"x-amz-sns-topic-arn": TOPIC}))


@pytest.mark.parametrize(
    "field", ["Message", "MessageId", "Timestamp", "TopicArn", "Type", "Signature", "SigningCertURL"]
)
def test_a_message_without_one_of_its_fields_is_refused(field: str) -> None:
    fields = sealed()
    del fields[field]

    assert refusal(fields) == Refusal.MISSING_HEADERS


@pytest.mark.parametrize("field", ["Message", "MessageId", "Timestamp"])
@pytest.mark.parametrize("value", [None, 5, True, [], {}])
def test_a_signed_field_that_is_no_text_is_refused(field: str, value: object) -> None:
    assert refusal(sealed() | {field: value}) == Refusal.MISSING_HEADERS


@pytest.mark.parametrize("value", ["x", "message-2", "message-1\n", "\ud800"])
@pytest.mark.parametrize("field", ["Message", "MessageId", "Timestamp", "Subject"])
def test_every_signed_field_is_covered(field: str, value: str) -> None:
    assert refusal(sealed() | {field: value}) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("kind", ["Notifications", "notification", "UnsubscriptionConfirmation", "", None, 5, []])
def test_a_type_that_sns_does_not_have_is_refused(kind: object) -> None:
    assert refusal(sealed() | {"Type": kind}) == Refusal.MISSING_HEADERS


def test_a_null_subject_is_an_absent_one() -> None:
    assert scheme(certificate_host()).verify(request(sealed() | {"Subject": None})) == "1 of 1"


def test_a_subject_is_covered_where_there_is_one() -> None:
    fields = sealed(Subject="Amazon SES Email Event Notification")

    assert scheme(certificate_host()).verify(request(fields)) == "1 of 1"
    assert refusal(fields | {"Subject": None}) == Refusal.BAD_SIGNATURE


def test_text_beyond_ascii_is_signed_as_utf_8_however_the_json_writes_it() -> None:
    fields = sealed(Subject="Zustellung fehlgeschlagen – Müller", Message='{"diagnosticCode":"Empfänger unbekannt 📭"}')
    for ascii_only in (True, False):
        body = json.dumps(fields, ensure_ascii=ascii_only).encode()
        assert scheme(certificate_host()).verify(Request({}, body, SENT_AT)) == "1 of 1"


def test_the_signed_text_has_a_line_for_each_name_and_each_value() -> None:
    assert signed_bytes(notification(Subject="hello", Message="a\nb")) == (
        b"Message\na\nb\nMessageId\nmessage-1\nSubject\nhello\nTimestamp\n2026-11-29T12:00:00.000Z\n"
        b"TopicArn\narn:aws:sns:eu-west-1:123456789012:ses-feedback\nType\nNotification\n"
    )


@pytest.mark.parametrize("headers", [{"content-type": "text/plain; charset=UTF-8"}, {"content-type": ""}, {}])
def test_the_content_type_does_not_matter(headers: dict[str, str]) -> None:
    assert scheme(certificate_host()).verify(request(sealed(), **headers)) == "1 of 1"


def test_the_spelling_of_lambda_for_the_certificates_address_is_understood() -> None:
    fields = sealed()
    fields["SigningCertUrl"] = fields.pop("SigningCertURL")

    assert scheme(certificate_host()).verify(request(fields)) == "1 of 1"


@pytest.mark.parametrize("signature", ["", "%%%", "AAA", "AAAA", "ÿþ", "\ud800", "0" * 9000, " ", "AA==\n"])
def test_a_malformed_signature_is_refused_and_never_an_error(signature: str) -> None:
    assert refusal(sealed() | {"Signature": signature}) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("timestamp", ["", "yesterday", "1796000000", "2026-13-01T00:00:00Z"])
def test_a_signed_time_that_cannot_be_read_is_refused(timestamp: str) -> None:
    assert refusal(sealed(Timestamp=timestamp)) == Refusal.MALFORMED_TIMESTAMP


@pytest.mark.parametrize("timestamp", ["2026-11-29T12:00:00Z", "2026-11-29T12:00:00", "2026-11-29T13:00:00.000+01:00"])
def test_a_time_may_come_without_milliseconds_or_with_another_offset(timestamp: str) -> None:
    assert scheme(certificate_host()).verify(request(sealed(Timestamp=timestamp))) == "1 of 1"


@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_the_first_and_the_last_year_are_refused_and_never_an_error(timestamp: str) -> None:
    assert refusal(sealed(Timestamp=timestamp)) in {Refusal.STALE, Refusal.FROM_THE_FUTURE}


def test_a_certificate_is_fetched_once() -> None:
    host = certificate_host()
    sns = scheme(host)
    for _ in range(3):
        sns.verify(request(sealed()))

    assert host.asked == [URL]


def test_certificates_are_kept_by_their_whole_address() -> None:
    other_region = URL.replace("eu-west-1", "us-east-1")
    other_topic = TOPIC.replace("eu-west-1", "us-east-1")
    host = CertificateHost({URL: pem(rsa_key("sns")), other_region: pem(rsa_key("another"))})
    sns = scheme(host, TOPIC, other_topic)
    sns.verify(request(sealed()))
    theirs = signer("another", other_region).seal(notification(TopicArn=other_topic))

    assert sns.verify(Request({}, theirs, SENT_AT)) == "2 of 2"
    assert host.asked == [URL, other_region]


def test_only_so_many_certificates_are_kept() -> None:
    urls = [f"{HOST}/SimpleNotificationService-{number:08x}.pem" for number in range(MOST_KEPT + 1)]
    host = CertificateHost(dict.fromkeys(urls, pem(rsa_key("sns"))))
    certificates = Certificates(host)
    for url in (*urls, urls[-1], urls[0]):
        certificates.key(url, "", SENT_AT)

    assert host.asked == [*urls, urls[0]]


@pytest.mark.parametrize("days", [-1, 1])
def test_a_certificate_out_of_date_proves_nothing_and_is_not_kept(days: int) -> None:
    begins = SENT_AT + timedelta(days=days) if days > 0 else SENT_AT - timedelta(days=30)
    host = CertificateHost({URL: pem(rsa_key("sns"), begins=begins, ends=begins + timedelta(days=29))})
    sns = scheme(host)
    for _ in range(2):
        with pytest.raises(ProofUnavailable, match="out of date"):
            sns.verify(request(sealed()))

    assert host.asked == [URL, URL]


def test_a_kept_certificate_that_has_expired_is_fetched_again() -> None:
    host = CertificateHost({URL: pem(rsa_key("sns"), ends=datetime(2026, 11, 30, tzinfo=UTC))})
    sns = scheme(host)
    sns.verify(request(sealed()))
    host.served[URL] = pem(rsa_key("sns"))
    later = Request({}, json.dumps(sealed()).encode(), SENT_AT + timedelta(days=2))

    assert sns.verify(later) == "1 of 1"
    assert host.asked == [URL, URL]


@pytest.mark.parametrize(
    "served", [b"", b"<html>Sign in to this network</html>", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\n"]
)
def test_what_is_no_certificate_is_a_fault_of_ours_and_no_refusal(served: bytes) -> None:
    with pytest.raises(ProofUnavailable, match="holds no certificate"):
        scheme(CertificateHost({URL: served})).verify(request(sealed()))


def test_a_certificate_of_an_ecdsa_key_proves_nothing() -> None:
    with pytest.raises(ProofUnavailable, match="not RSA"):
        scheme(CertificateHost({URL: pem(ecdsa_key())})).verify(request(sealed()))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_of_the_certificate_is_not_followed(status: int) -> None:
    with responses.RequestsMock() as web:
        web.get(URL, status=status, headers={"location": "http://169.254.169.254/latest/meta-data/"})
        with pytest.raises(ProofUnavailable, match=f"answered {status}"):
            scheme(https_get).verify(request(sealed()))

        assert [call.request.url for call in web.calls] == [URL]


def test_a_certificate_that_is_too_long_is_not_read_to_its_end() -> None:
    with responses.RequestsMock() as web:
        web.get(URL, body=b"x" * (MOST_BYTES + 1))
        with pytest.raises(ProofUnavailable, match="more than"):
            scheme(https_get).verify(request(sealed()))


def test_a_certificate_over_the_network_is_believed() -> None:
    with responses.RequestsMock() as web:
        web.get(URL, body=pem(rsa_key("sns")))

        assert scheme(https_get).verify(request(sealed())) == "1 of 1"


def test_raw_messages_need_credentials_of_their_own() -> None:
    sns = scheme(certificate_host(), raw=Credentials((CREDENTIALS,)))
    post = Credentials((CREDENTIALS,)).sign(b'{"notificationType":"Bounce"}', "message-1", SENT_AT)

    assert sns.verify(Request(post.headers, post.body, SENT_AT)) == "1 of 1"
    with pytest.raises(ProofRefused, match=Refusal.MISSING_HEADERS):
        sns.verify(Request({"x-amz-sns-rawdelivery": "true"}, post.body, SENT_AT))


def test_credentials_open_no_door_to_an_envelope() -> None:
    sns = scheme(certificate_host(), raw=Credentials((CREDENTIALS,)))
    headers = Credentials((CREDENTIALS,)).sign(b"", "message-1", SENT_AT).headers
    for fields in (sealed() | {"Message": "changed"}, {"Message": "alone"}, {"Type": "Notification"}):
        with pytest.raises(ProofRefused):
            sns.verify(request(fields, **headers))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"type":"Bounce","message":"x"}'])
def test_what_has_neither_type_nor_message_is_no_envelope(body: bytes) -> None:
    assert envelope(body) is None


@pytest.mark.parametrize("token", [None, "", "a b", "x" * 3000, "\ud800", "é", 5, ["x"]])
def test_an_odd_token_confirms_nothing(token: object) -> None:
    fields = notification(Type="SubscriptionConfirmation", Token=token)

    assert scheme(certificate_host()).read(request(fields), unread) == Normalised()


@pytest.mark.parametrize("changes", [{"Type": "Invented"}, {"Type": None}, {"Message": None}, {"Message": ["x"]}])
def test_an_envelope_that_holds_nothing_readable_is_parked(changes: dict[str, Any]) -> None:
    said = scheme(certificate_host()).read(request(notification(**changes)), unread)

    assert [item.reason for item in said.parked] == ["the envelope holds no notification"]


def unread(notice: Notice) -> Normalised:
    raise AssertionError(f"nothing was published, and yet {notice} is read")
