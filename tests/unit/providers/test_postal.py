"""Postal: what each of its posts comes to, whom it concerns, and which of its two signatures counts."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from config.settings import load
from core.events import Event, Kind
from providers.base import Normalised, Post, ProofRefused, Provider, Request
from providers.postal import ANSWERS, ENTRY, postal
from providers.public_keys import PrivateKey, read_private_key, signed, written
from providers.signatures import Refusal
from tests.unit.providers import reading
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import COUNTED, JANE, PARKED, assert_comes_to, only_event
from tests.unit.providers.security_cases import SENT_AT, SecurityCases

OURS, NEXT = "the installation", "the next installation"  # names of key pairs

RECORDED: dict[str, tuple[str, str]] = {
    "sent": (Kind.DELIVERED, "postal.sent"),
    "display_name": (Kind.DELIVERED, "postal.sent"),
    "without_uuid": (Kind.DELIVERED, "postal.sent"),
    "delayed": (Kind.DEFERRED, "postal.delayed"),
    "null_fields": (Kind.DEFERRED, "postal.delayed"),
    "failed_5_1_1": (Kind.HARD_BOUNCE, "postal.refused_bad_address"),
    "failed_5_1_10": (Kind.HARD_BOUNCE, "postal.refused_bad_address"),
    "failed_5_7_1": (Kind.SOFT_BOUNCE, "postal.refused"),
    "failed_address_of_a_host": (Kind.SOFT_BOUNCE, "postal.refused"),
    "failed_attempts_exhausted": (Kind.SOFT_BOUNCE, "postal.failed"),
    "bounced": (Kind.SOFT_BOUNCE, "postal.bounced"),
    "held": (Kind.REJECTED, "postal.held"),
    "bounced_without_original": (COUNTED, Kind.SOFT_BOUNCE),
    "payload_null": (COUNTED, Kind.DELIVERED),
    "incoming_failed": (COUNTED, Kind.OTHER),
    "link_clicked": (COUNTED, Kind.OTHER),
    "loaded": (COUNTED, Kind.OTHER),
    "domain_dns_error": (COUNTED, Kind.OTHER),
    "send_limit_exceeded": (COUNTED, Kind.OTHER),
    "unknown_event": (COUNTED, Kind.OTHER),
    "several_recipients": (PARKED, "hard_bounce without a single recipient"),
}


@cache
def private_key(_name: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65_537, 2048)


def public_text(name: str) -> str:
    """The public half of the named pair as Postal prints it; of no name, no key."""
    return written(private_key(name).public_key()) if name else ""


def pem(name: str) -> bytes:
    return private_key(name).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def made(*pairs: str, sign_with: Callable[[], PrivateKey] | None = None) -> Provider:
    first = pairs[0] if pairs else ""
    return postal([public_text(name) for name in pairs], sign_with or partial(private_key, first))


class TestSecurity(SecurityCases):
    name = "postal"
    secret = OURS
    next_secret = NEXT
    signature_header = "x-postal-signature-256"
    window_s = None
    future_s = None
    kinds_never_told = frozenset({Kind.ACCEPTED, Kind.COMPLAINT, Kind.UNSUBSCRIBED})

    def make(self, *secrets: str) -> Provider:
        return made(*secrets)

    def post(self, secret: str = "", kind: Kind = Kind.HARD_BOUNCE) -> Post:  # Postal tells no complaints
        return super().post(secret, kind)

    def test_a_post_of_an_older_postal_with_sha_1_alone_is_accepted(self) -> None:
        body = recorded("postal", "sent")
        signature = base64.b64encode(signed(private_key(OURS), body, hashes.SHA1())).decode()  # noqa: S303
        request = Request({"x-postal-signature": signature}, body, SENT_AT)

        assert self.make(OURS).verify(request) == "1 of 1"

    def test_a_genuine_sha_1_beside_a_wrong_sha_256_is_refused(self) -> None:
        body = recorded("postal", "sent")
        signature = base64.b64encode(signed(private_key(OURS), body, hashes.SHA1())).decode()  # noqa: S303
        headers = {"x-postal-signature": signature, "x-postal-signature-256": signature}

        with pytest.raises(ProofRefused) as refused:
            self.make(OURS).verify(Request(headers, body, SENT_AT))
        assert refused.value.reason == Refusal.BAD_SIGNATURE


def read(body: bytes, *, any_5xx_is_hard: bool = False) -> Normalised:
    key = partial(private_key, OURS)
    return postal([public_text(OURS)], key, any_5xx_is_hard=any_5xx_is_hard).normalise(posted(body))


def changed(name: str, path: str, value: object) -> bytes:
    return reading.changed(recorded("postal", name), path, value)


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("postal") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[str, str]) -> None:
    said = read(recorded("postal", name))
    assert_comes_to(said, expected)
    assert {item.index for item in said.parked} <= {0}


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("postal", "failed_5_1_1"))) == Event(
        event_id="postal:00000000-0000-4000-8000-000000000042",
        provider="postal",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="postal.refused_bad_address",
        provider_message_id="mail-0042@rp.postal.example.org",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="HardFail; Permanent SMTP delivery error when sending to mx.example.com (192.0.2.25); "
        "550 5.1.1 no such user",
    )


def test_every_5xx_removes_if_the_settings_say_so_but_nothing_else_does() -> None:
    assert only_event(read(recorded("postal", "failed_5_7_1"), any_5xx_is_hard=True)).kind is Kind.HARD_BOUNCE
    exhausted = only_event(read(recorded("postal", "failed_attempts_exhausted"), any_5xx_is_hard=True))
    assert exhausted.kind is Kind.SOFT_BOUNCE


def test_a_bounce_concerns_the_recipient_of_the_original_mail_and_neither_end_of_the_bounce() -> None:
    event = only_event(read(recorded("postal", "bounced")))

    assert (event.recipient, event.provider_message_id) == (JANE, "mail-0042@rp.postal.example.org")


@pytest.mark.parametrize("details", [None, "", "Held", "Recipient: Permanent SMTP delivery error", ["Permanent"]])
def test_a_failure_that_was_not_an_answer_of_the_receiving_server_never_removes(details: object) -> None:
    body = changed("failed_5_1_1", "payload.details", details)

    assert only_event(read(body, any_5xx_is_hard=True)).kind is Kind.SOFT_BOUNCE


@pytest.mark.parametrize("direction", ["incoming", "INCOMING"])
def test_mail_to_us_is_ignored_even_where_it_failed_for_good(direction: str) -> None:
    body = changed("failed_5_1_1", "payload.message.direction", direction)

    assert read(body) == Normalised(counted={Kind.OTHER: 1})


@pytest.mark.parametrize("to", [None, "", 5, [JANE], f"{JANE}, john@example.org"])
def test_a_removal_that_names_no_single_recipient_is_parked(to: object) -> None:
    said = read(changed("failed_5_1_1", "payload.message.to", to))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


@pytest.mark.parametrize("message", [None, [], JANE, json.dumps({"to": JANE, "direction": "incoming"})])
def test_a_removal_without_a_readable_mail_is_parked(message: object) -> None:
    said = read(changed("failed_5_1_1", "payload.message", message))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


@pytest.mark.parametrize("tag", [None, "", "welcome-email", 5, ["mailward"]])
def test_a_tag_that_is_not_ours_names_no_campaign(tag: object) -> None:
    assert only_event(read(changed("sent", "payload.message.tag", tag))).campaign_id == ""


def test_without_a_uuid_an_event_gets_an_id_that_repeats() -> None:
    once, again = (only_event(read(changed("sent", "uuid", None))).event_id for _ in range(2))
    other = only_event(read(changed("without_uuid", "payload.message.to", "john@example.org"))).event_id

    assert once == again != other


@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"{}", b'{"event":5}', b'{"rcpt_to":"inbox@example.org"}'])
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


def test_postal_is_answered_before_it_gives_up() -> None:
    assert ANSWERS.deadline_s == 4.0


def settings_with(key_file: str = "", keys: str = "") -> dict[str, str]:
    return {"POSTAL_PUBLIC_KEYS": keys or public_text(OURS), "TEST_PRIVATE_KEY": key_file}


def of_settings(environ: dict[str, str]) -> Provider:
    provider = ENTRY.make(load(environ), lambda _: b"")
    assert provider is not None
    return provider


def test_the_settings_make_it() -> None:
    assert ENTRY.make(load({}), lambda _: b"") is None
    switched = of_settings(settings_with() | {"POSTAL_ANY_5XX_IS_HARD": "true"})

    assert only_event(switched.normalise(posted(recorded("postal", "failed_5_7_1")))).kind is Kind.HARD_BOUNCE


def test_a_test_post_is_signed_with_the_key_file_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(pem(OURS))
    provider = of_settings(settings_with(str(tmp_path / "key.pem")))
    post = provider.sign(recorded("postal", "sent"), "evt_1", SENT_AT)

    assert provider.verify(Request(post.headers, post.body, SENT_AT)) == "1 of 1"


def test_the_key_file_is_not_looked_at_before_something_is_to_be_signed(tmp_path: Path) -> None:
    provider = of_settings(settings_with(str(tmp_path / "nowhere.pem")))

    with pytest.raises(ValueError, match="TEST_PRIVATE_KEY names a file that cannot be read"):
        provider.sign(b"{}", "evt_1", SENT_AT)


def test_without_a_key_file_a_test_post_is_refused_in_words_for_an_operator() -> None:
    with pytest.raises(ValueError, match="TEST_PRIVATE_KEY"):
        of_settings(settings_with()).sign(b"{}", "evt_1", SENT_AT)


def test_a_key_file_of_another_pair_signs_nothing(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(pem(NEXT))

    with pytest.raises(ValueError, match="belongs to none"):
        of_settings(settings_with(str(tmp_path / "key.pem"))).sign(b"{}", "evt_1", SENT_AT)


def test_a_setting_that_is_no_key_stops_the_start_by_its_name() -> None:
    with pytest.raises(ValueError, match="POSTAL_PUBLIC_KEYS holds a key that is not"):
        ENTRY.make(load(settings_with(keys=base64.b64encode(b"x" * 80).decode())), lambda _: b"")


def test_the_key_of_1024_bits_that_postal_makes_is_read() -> None:
    small = rsa.generate_private_key(65_537, 1024).public_key()  # noqa: S505 - that is what Postal makes
    text = base64.b64encode(small.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).decode()

    assert postal([text], partial(read_private_key, "")).name == "postal"
