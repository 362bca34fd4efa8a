"""SendGrid's signature: what it covers to the byte, whose key is taken, and what cannot sign."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from providers.base import ProofRefused, Request
from providers.public_keys import PrivateKey, read_key, read_private_key
from providers.sendgrid import SIGNATURE, TIMESTAMP, sendgrid
from providers.signatures import Refusal
from tests.unit.providers.keys import private_key, public_text

SENT_AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
TWO_EVENTS = (
    b'[{"email":"a@example.com","event":"dropped","reason":"Bounced Address","sg_event_id":"1"},\r\n'
    b'{"email":"b@example.org","event":"spamreport","sg_event_id":"2"}]\r\n'
)
ESCAPED = b'[{"reason":"550 5.1.1 \\/ user","email":"a@example.com","event":"bounce"}]\r\n'

# The published test vector of sendgrid/sendgrid-python, test/unit/test_eventwebhook.py.
VECTOR_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eN"
    "Ec6wEA3F+g=="
)
VECTOR_HEADERS = {
    SIGNATURE: "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
    TIMESTAMP: "1600112502",
}
VECTOR_BODY = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",'
    b'"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",'
    b'"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",'
    b'"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)
VECTOR_SENT_AT = datetime.fromtimestamp(1600112502, UTC)


def no_key() -> PrivateKey:
    raise ValueError("nothing is signed here")


def refusal(body: bytes, headers: dict[str, str], received_at: datetime = SENT_AT, key: str = "") -> str:
    provider = sendgrid((key or public_text("first"),), no_key)
    with pytest.raises(ProofRefused) as refused:
        provider.verify(Request(headers, body, received_at))
    return refused.value.reason


def signed(body: bytes) -> dict[str, str]:
    return dict(sendgrid((public_text("first"),), lambda: private_key("first")).sign(body, "evt_1", SENT_AT).headers)


def verified(body: bytes, headers: dict[str, str], received_at: datetime = SENT_AT) -> str:
    return sendgrid((public_text("first"),), no_key).verify(Request(headers, body, received_at))


def test_the_published_vector_of_sendgrid_is_genuine() -> None:
    assert sendgrid((VECTOR_KEY,), no_key).verify(Request(VECTOR_HEADERS, VECTOR_BODY, VECTOR_SENT_AT)) == "1 of 1"


def test_a_trailing_crlf_is_part_of_what_sendgrid_signs() -> None:
    body = VECTOR_BODY.removesuffix(b"\r\n")

    assert refusal(body, VECTOR_HEADERS, VECTOR_SENT_AT, VECTOR_KEY) == Refusal.BAD_SIGNATURE


def test_line_breaks_between_events_are_part_of_what_is_signed_and_both_events_are_read() -> None:
    headers = signed(TWO_EVENTS)
    said = sendgrid((public_text("first"),), no_key).normalise(Request(headers, TWO_EVENTS, SENT_AT))

    assert verified(TWO_EVENTS, headers) == "1 of 1"
    assert [event.recipient for event in said.events] == ["a@example.com", "b@example.org"]
    assert refusal(TWO_EVENTS.replace(b",\r\n", b","), headers) == Refusal.BAD_SIGNATURE


def test_a_body_that_was_read_and_written_again_is_refused() -> None:
    headers = signed(ESCAPED)
    again = json.dumps(json.loads(ESCAPED), separators=(",", ":")).encode() + b"\r\n"

    assert verified(ESCAPED, headers) == "1 of 1"
    assert len(again) == len(ESCAPED) - 1  # the escaped slash is all that differs
    assert refusal(again, headers) == Refusal.BAD_SIGNATURE


def test_a_digit_moved_from_the_timestamp_into_the_body_makes_a_post_of_another_century() -> None:
    headers = signed(TWO_EVENTS)
    digits = headers[TIMESTAMP]

    assert refusal(digits[-1:].encode() + TWO_EVENTS, headers | {TIMESTAMP: digits[:-1]}) == Refusal.STALE


@pytest.mark.parametrize(
    "timestamp",
    [
        "soon",
        "-1",
        "+1795953600",
        "1795953600.0",
        " 1795953600",
        "1795953600\n",
        "179595360000",
        "\u0661",
        "1_0",
        "\ud800",
    ],
)
def test_a_timestamp_of_anything_but_a_few_digits_is_malformed(timestamp: str) -> None:
    assert refusal(TWO_EVENTS, signed(TWO_EVENTS) | {TIMESTAMP: timestamp}) == Refusal.MALFORMED_TIMESTAMP


def test_another_timestamp_than_the_signed_one_is_refused() -> None:
    later = str(int(SENT_AT.timestamp()) + 1)

    assert refusal(TWO_EVENTS, signed(TWO_EVENTS) | {TIMESTAMP: later}) == Refusal.BAD_SIGNATURE


def test_without_its_timestamp_a_signature_is_no_proof() -> None:
    assert refusal(TWO_EVENTS, signed(TWO_EVENTS) | {TIMESTAMP: ""}) == Refusal.MISSING_HEADERS


def test_two_timestamps_are_refused() -> None:
    headers = signed(TWO_EVENTS)
    twice = f"{headers[TIMESTAMP]}, {headers[TIMESTAMP]}"

    assert refusal(TWO_EVENTS, headers | {TIMESTAMP: twice}) == Refusal.DUPLICATE_HEADERS


def test_a_retry_after_a_day_that_kept_its_timestamp_is_still_accepted() -> None:
    assert verified(TWO_EVENTS, signed(TWO_EVENTS), SENT_AT + timedelta(hours=24, minutes=30)) == "1 of 1"


@pytest.mark.parametrize(
    "made",
    [lambda: rsa.generate_private_key(65_537, 2048), lambda: ec.generate_private_key(ec.SECP384R1())],
    ids=["rsa", "p-384"],
)
def test_a_key_of_another_kind_than_sendgrid_uses_is_refused_at_the_start(made: Callable[[], PrivateKey]) -> None:
    with pytest.raises(ValueError, match="key that is not ECDSA on the curve P-256"):
        sendgrid((public_text("first"), public_text(made())), no_key)


def test_pem_lines_around_a_key_do_no_harm() -> None:
    pem = (
        private_key("first")
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )

    assert read_key(pem.decode()) == read_key(public_text("first"))


# --- signing ----------------------------------------------------------------------------------------------------------


def test_nothing_is_signed_with_a_private_key_that_no_public_one_belongs_to() -> None:
    with pytest.raises(ValueError, match="belongs to none of the provider's public keys"):
        sendgrid((public_text("first"),), lambda: private_key("next")).sign(TWO_EVENTS, "evt_1", SENT_AT)


def test_the_private_key_of_test_posts_is_read_from_a_pem_file(tmp_path: Path) -> None:
    assert public_text(read_private_key(pem_file(tmp_path, private_key("first")))) == public_text("first")


def test_without_a_private_key_the_operator_reads_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"the provider alone holds the key .* TEST_PRIVATE_KEY"):
        read_private_key("")


@pytest.mark.parametrize("content", [b"", b"not a key", b"\xff\xfe", None])
def test_a_file_without_a_private_key_is_named_by_its_setting(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ValueError, match="TEST_PRIVATE_KEY names a file that"):
        read_private_key(str(path))


def test_a_private_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="neither RSA nor ECDSA"):
        read_private_key(pem_file(tmp_path, ed25519.Ed25519PrivateKey.generate()))


def pem_file(folder: Path, key: PrivateKey | ed25519.Ed25519PrivateKey) -> str:
    path = folder / "key.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return str(path)
