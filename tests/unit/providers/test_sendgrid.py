"""SendGrid: what each of its events comes to, and how its batches and odd shapes are read."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from config.settings import load
from core.events import Event, Kind
from providers import sendgrid as module
from providers.base import Normalised, ParkedItem, Provider, Request
from providers.fetching import https_get
from providers.sendgrid import sendgrid
from tests.unit.providers.keys import private_key, public_text
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import JANE, only_event
from tests.unit.providers.security_cases import SecurityCases

HAPPENED_AT = datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC)
COUNTED = (Kind.OTHER, "sendgrid.other")

RECORDED = {
    "processed": (Kind.ACCEPTED, "sendgrid.processed"),
    "deferred": (Kind.DEFERRED, "sendgrid.deferred"),
    "delivered": (Kind.DELIVERED, "sendgrid.delivered"),
    "bounce": (Kind.HARD_BOUNCE, "sendgrid.bounce"),
    "bounce_asynchronous": (Kind.HARD_BOUNCE, "sendgrid.bounce"),
    "bounce_blocked": (Kind.SOFT_BOUNCE, "sendgrid.blocked_bounce"),
    "bounce_without_type_invalid_address": (Kind.HARD_BOUNCE, "sendgrid.untyped_invalid_address"),
    "bounce_without_type": (Kind.SOFT_BOUNCE, "sendgrid.untyped_bounce"),
    "blocked": (Kind.SOFT_BOUNCE, "sendgrid.blocked"),
    "dropped": (Kind.REJECTED, "sendgrid.dropped"),
    "spam_report": (Kind.COMPLAINT, "sendgrid.spam_report"),
    "nulls": (Kind.COMPLAINT, "sendgrid.spam_report"),
    "without_ids": (Kind.COMPLAINT, "sendgrid.spam_report"),
    "in_milliseconds": (Kind.COMPLAINT, "sendgrid.spam_report"),
    "unsubscribe": (Kind.UNSUBSCRIBED, "sendgrid.unsubscribe"),
    "group_unsubscribe": (Kind.UNSUBSCRIBED, "sendgrid.unsubscribe"),
    "group_resubscribe": COUNTED,
    "open": COUNTED,
    "click": COUNTED,
    "account_status_change": COUNTED,
    "unknown_event": COUNTED,
}
BATCHES = {"batch", "batch_with_broken_items", "empty_batch", "test_your_integration"}


class TestSecurity(SecurityCases):
    """A secret is the name of a key pair, as only a private key can sign."""

    name = "sendgrid"
    secret = "first"
    next_secret = "next"
    signature_header = module.SIGNATURE
    window_s = 25 * 3600

    def make(self, *secrets: str) -> Provider:
        keys = [public_text(name) if name else "" for name in secrets]
        return sendgrid(keys, lambda: private_key(secrets[0]))


def read(body: bytes, *, keep_local_case: bool = False) -> Normalised:
    provider = sendgrid((public_text("first"),), lambda: private_key("first"), keep_local_case=keep_local_case)
    return provider.normalise(posted(body))


def said_of(event: object = "spamreport", **fields: object) -> Normalised:
    return read(json.dumps([{"event": event, "email": JANE, "sg_event_id": "evt_1", **fields}]).encode())


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("sendgrid") == {*RECORDED, *BATCHES}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[Kind, str]) -> None:
    said = read(recorded("sendgrid", name))
    if expected == COUNTED:
        assert said == Normalised(counted={Kind.OTHER: 1})
    else:
        event = only_event(said)
        assert (event.kind, event.rule, event.recipient) == (*expected, JANE)


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("sendgrid", "bounce"))) == Event(
        event_id="sendgrid:made-up-event-0004",
        provider="sendgrid",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=HAPPENED_AT,
        received_at=RECEIVED_AT,
        rule="sendgrid.bounce",
        provider_message_id="made-up-4",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="bounce; Invalid Address; 5.1.1; 550 5.1.1 The email account does not exist",
    )


# --- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_is_read_event_by_event() -> None:
    said = read(recorded("sendgrid", "batch"))

    assert [(event.kind, event.recipient) for event in said.events] == [
        (Kind.ACCEPTED, JANE),
        (Kind.DELIVERED, JANE),
        (Kind.HARD_BOUNCE, "john@example.org"),
        (Kind.COMPLAINT, "kim@example.net"),
    ]
    assert (said.indexes, said.parked, dict(said.counted)) == ((0, 1, 2, 4), (), {Kind.OTHER: 1})


def test_broken_items_are_parked_and_their_neighbours_go_on() -> None:
    said = read(recorded("sendgrid", "batch_with_broken_items"))

    assert [event.kind for event in said.events] == [Kind.DELIVERED, Kind.COMPLAINT]
    assert said.indexes == (0, 4)
    assert [(item.index, item.reason) for item in said.parked] == [
        (1, "the item is not a JSON object"),
        (2, "hard_bounce without a single recipient: there is no address"),
        (3, "the item has no event"),
    ]


def test_an_empty_batch_means_nothing() -> None:
    assert read(recorded("sendgrid", "empty_batch")) == Normalised()


def test_the_dashboards_test_is_counted_and_touches_nobody() -> None:
    said = read(recorded("sendgrid", "test_your_integration"))

    assert said == Normalised(counted={Kind.OTHER: 11})
    assert {item.rule for item in said.counted_items} == {"sendgrid.test_integration"}


@pytest.mark.parametrize("email", ["example@test.com", "Example@Test.com", " example@test.com"])
def test_the_dashboards_address_is_known_however_it_is_written(email: str) -> None:
    assert said_of(email=email) == Normalised(counted={Kind.OTHER: 1})


@pytest.mark.parametrize("email", ["example@test.com.example.org", "an.example@test.com", f"example@test.com <{JANE}>"])
def test_an_address_that_only_holds_the_dashboards_is_treated_as_real(email: str) -> None:
    assert said_of(email=email).counted == {}


def test_the_same_batch_posted_46_times_is_the_same_event_every_time() -> None:
    body = recorded("sendgrid", "batch")

    assert len({tuple(event.event_id for event in read(body).events) for _ in range(46)}) == 1


# --- fields -----------------------------------------------------------------------------------------------------------


def test_the_letters_of_event_type_and_classification_may_be_of_either_case() -> None:
    assert only_event(said_of("Bounce", type="BOUNCE")).kind is Kind.HARD_BOUNCE
    assert only_event(said_of("bounce", bounce_classification="invalid address")).kind is Kind.HARD_BOUNCE


@pytest.mark.parametrize("type_", ["blocked", "expired", "", 5, True, ["bounce"], {"bounce": 1}])
def test_a_bounce_of_any_other_type_keeps_the_record(type_: object) -> None:
    said = said_of("bounce", type=type_, bounce_classification="Invalid Address", status="5.1.1")

    assert only_event(said).kind is Kind.SOFT_BOUNCE


@pytest.mark.parametrize("classification", ["Mailbox Unavailable", "Content", "Unclassified", None, "", 5])
def test_a_bounce_without_a_type_is_hard_for_an_invalid_address_alone(classification: object) -> None:
    assert only_event(said_of("bounce", bounce_classification=classification)).kind is Kind.SOFT_BOUNCE


@pytest.mark.parametrize(
    "reason", ["Bounced Address", "Spam Reporting Address", "Unsubscribed Address", "Invalid", None]
)
def test_a_drop_is_never_new_evidence_whatever_its_reason(reason: object) -> None:
    assert only_event(said_of("dropped", reason=reason)).kind is Kind.REJECTED


@pytest.mark.parametrize("category", ["cat facts", ["cat facts", "dog facts"], [], None, 5, {"a": "b"}])
def test_a_category_may_be_a_text_or_a_list_and_decides_nothing(category: object) -> None:
    assert only_event(said_of(category=category)) == only_event(said_of())


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        (1795390872, HAPPENED_AT),
        ("1795390872", HAPPENED_AT),
        (1795390872126, HAPPENED_AT.replace(microsecond=126000)),
        (4102444800, RECEIVED_AT),
        ("soon", RECEIVED_AT),
        (True, RECEIVED_AT),
        (None, RECEIVED_AT),
    ],
)
def test_the_event_time_is_in_seconds_or_milliseconds_and_never_in_the_future(
    written: object, moment: datetime
) -> None:
    assert only_event(said_of(timestamp=written)).occurred_at == moment


@pytest.mark.parametrize(
    ("fields", "message_id"),
    [
        ({"sg_message_id": "abc.recvd-1.0", "smtp-id": "<xyz@mail.example.org>"}, "abc"),
        ({"sg_message_id": "abc"}, "abc"),
        ({"sg_message_id": None, "smtp-id": "<xyz@mail.example.org>"}, "<xyz@mail.example.org>"),
        ({"sg_message_id": ["abc"], "smtp-id": {}}, ""),
        ({}, ""),
    ],
)
def test_the_message_id_is_what_the_send_was_answered(fields: dict[str, object], message_id: str) -> None:
    assert only_event(said_of(**fields)).provider_message_id == message_id


def test_an_event_without_an_id_is_told_by_what_it_is_about_and_not_by_its_attempts() -> None:
    ids = [
        only_event(said_of("deferred", sg_event_id=None, **fields)).event_id
        for fields in (
            {"timestamp": 1, "attempt": "1"},
            {"timestamp": 1, "attempt": "2"},
            {"timestamp": 2},
            {"timestamp": 1, "email": "john@example.org"},
            {"timestamp": 1, "smtp-id": "<xyz@mail.example.org>"},
        )
    ]

    assert ids[0] == ids[1]
    assert len(set(ids)) == 4


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, john@example.org", "jane\u200b@example.com"])
def test_a_removal_that_names_no_single_recipient_is_parked_without_its_address(email: object) -> None:
    said = said_of("bounce", type="bounce", email=email)

    assert (said.events, [item.index for item in said.parked]) == ((), [0])
    assert "example" not in said.parked[0].reason


def test_the_local_part_keeps_its_case_if_told_so() -> None:
    body = json.dumps([{"event": "spamreport", "email": "Jane.Doe@Example.com"}]).encode()

    assert only_event(read(body, keep_local_case=True)).recipient == "Jane.Doe@example.com"


@pytest.mark.parametrize("event", [None, 5, [], {}, True])
def test_an_item_without_an_event_is_parked(event: object) -> None:
    body = json.dumps([{"event": event, "email": JANE}]).encode()

    assert read(body).parked == (ParkedItem(0, "the item has no event"),)


@pytest.mark.parametrize("body", [b"", b"\r\n", b"[", b"null", b'"x"', b"5", b'[{"event":NaN}]', b"[" * 200_000])
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


# --- settings ---------------------------------------------------------------------------------------------------------


def test_without_its_keys_there_is_no_sendgrid() -> None:
    assert module.make(load({}), https_get) is None


def test_a_post_for_tests_is_signed_with_the_key_that_the_settings_name(tmp_path: Path) -> None:
    path = tmp_path / "test.pem"
    path.write_bytes(private_key("first").private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    provider = module.make(
        load({"SENDGRID_WEBHOOK_KEYS": public_text("first"), "TEST_PRIVATE_KEY": str(path)}), https_get
    )
    assert provider is not None
    post = provider.sign(provider.sample(Kind.DELIVERED, JANE, "evt_1", RECEIVED_AT), "evt_1", RECEIVED_AT)

    assert provider.verify(Request(post.headers, post.body, RECEIVED_AT)) == "1 of 1"


def test_a_missing_private_key_stops_signing_and_nothing_else() -> None:
    provider = module.make(load({"SENDGRID_WEBHOOK_KEYS": public_text("first")}), https_get)
    assert provider is not None

    with pytest.raises(ValueError, match="TEST_PRIVATE_KEY"):
        provider.sign(b"[]", "evt_1", RECEIVED_AT)


@pytest.mark.parametrize(
    "key",
    [base64.b64encode(b"x" * 91).decode(), public_text(rsa.generate_private_key(65_537, 2048))],
    ids=["no key", "rsa"],
)
def test_a_key_that_is_none_stops_the_start_and_names_its_setting(key: str) -> None:
    with pytest.raises(ValueError, match="SENDGRID_WEBHOOK_KEYS holds a key that is"):
        module.make(load({"SENDGRID_WEBHOOK_KEYS": key}), https_get)
