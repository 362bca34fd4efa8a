"""Postmark: what each of its posts comes to, and what is read from it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from core.decide import Outcome, decide
from core.events import Event, Kind
from providers.base import Normalised
from providers.composed import Composed
from providers.postmark import postmark
from tests.unit.providers.payloads import RECEIVED_AT, names, recorded
from tests.unit.providers.reading import COUNTED, JANE, JOHN, PARKED, ids, only_event, outcomes, read
from tests.unit.providers.security_cases import SecurityCases

HARD, SOFT = Kind.HARD_BOUNCE, Kind.SOFT_BOUNCE
POSTMARK = postmark(("postmark:a-made-up-password",))

RECORDED = {
    "bounce_hard": (HARD, "postmark.hard_bounce"),
    "bounce_bad_address": (HARD, "postmark.hard_bounce"),
    "bounce_soft": (SOFT, "postmark.soft_bounce"),
    "bounce_dns_error": (SOFT, "postmark.soft_bounce"),
    "bounce_transient": (Kind.DEFERRED, "postmark.transient"),
    "bounce_spam_notification": (SOFT, "postmark.spam_notification"),
    "bounce_spam_complaint": (Kind.COMPLAINT, "postmark.bounce_spam_complaint"),
    "bounce_unsubscribe": (Kind.UNSUBSCRIBED, "postmark.bounce_unsubscribe"),
    "bounce_unsubscribe_without_email": (COUNTED, "postmark.bounce_unsubscribe"),
    "bounce_blocked": (Kind.REJECTED, "postmark.not_attempted"),
    "bounce_deactivated": (Kind.REJECTED, "postmark.not_attempted"),
    "bounce_auto_responder": (COUNTED, "postmark.answered"),
    "bounce_invented_type": (SOFT, "postmark.bounce_of_another_type"),
    "bounce_without_type": (SOFT, "postmark.bounce_of_another_type"),
    "bounce_without_email": (PARKED, "hard_bounce without a single recipient: there is no address"),
    "bounce_null_fields": (PARKED, "hard_bounce without a single recipient: there is no address"),
    "spam_complaint": (Kind.COMPLAINT, "postmark.spam_complaint"),
    "delivery": (Kind.DELIVERED, "postmark.delivered"),
    "subscription_hard_bounce": (HARD, "postmark.suppressed_hard_bounce"),
    "subscription_spam_complaint": (Kind.COMPLAINT, "postmark.suppressed_spam_complaint"),
    "subscription_by_recipient": (Kind.UNSUBSCRIBED, "postmark.suppressed_by_recipient"),
    "subscription_by_customer": (Kind.REJECTED, "postmark.suppressed_by_sender"),
    "subscription_by_admin": (Kind.REJECTED, "postmark.suppressed_by_sender"),
    "subscription_without_reason": (Kind.UNSUBSCRIBED, "postmark.suppressed_by_recipient"),
    "subscription_reactivated": (COUNTED, "postmark.other"),
    "open": (COUNTED, "postmark.other"),
    "click": (COUNTED, "postmark.other"),
    "inbound": (COUNTED, "postmark.other"),
    "smtp_api_error": (COUNTED, "postmark.other"),
    "unknown_record_type": (COUNTED, "postmark.other"),
}


class TestSecurity(SecurityCases):
    name = "postmark"
    secret, next_secret = "postmark:a-made-up-password", "postmark:the-next-made-up-password"
    signature_header = "authorization"
    covers_body = False
    window_s = future_s = None
    kinds_never_told = frozenset({Kind.ACCEPTED})

    def make(self, *secrets: str) -> Composed:
        return postmark(secrets)


def said_of(record_type: object = "Bounce", **fields: Any) -> Normalised:
    return read(POSTMARK, {"RecordType": record_type, "Type": "HardBounce", "ID": 7, "Email": JANE, **fields})


def event_of(name: str) -> Event:
    return only_event(read(POSTMARK, recorded("postmark", name)))


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("postmark") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[str, str]) -> None:
    said = read(POSTMARK, recorded("postmark", name))

    assert outcomes(said) == [expected]
    assert all(event.recipient == JANE for event in said.events)


def test_an_event_carries_all_that_is_known() -> None:
    assert event_of("bounce_hard") == Event(
        event_id="postmark:901542550",
        provider="postmark",
        kind=HARD,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(
            2026, 11, 22, 23, 41, 12, 126393, tzinfo=UTC
        ),  # seven digits of a second, minus five hours
        received_at=RECEIVED_AT,
        rule="postmark.hard_bounce",
        provider_message_id="2706ee8a-737c-4285-b032-ccd317af53ed",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="HardBounce; A made-up description.; smtp;550 5.1.1 made up; deactivated by Postmark",
    )


@pytest.mark.parametrize(
    ("name", "moment"),
    [("delivery", "2026-11-22T23:41:12.273539+00:00"), ("subscription_hard_bounce", "2026-11-22T23:41:13+00:00")],
)
def test_each_record_type_has_its_time_in_a_field_of_its_own(name: str, moment: str) -> None:
    assert event_of(name).occurred_at.isoformat() == moment


@pytest.mark.parametrize("time", [None, "", "yesterday", 1795390872, {}])
def test_a_time_that_cannot_be_read_is_that_of_its_receipt(time: object) -> None:
    assert only_event(said_of(BouncedAt=time)).occurred_at == RECEIVED_AT


def test_both_records_of_one_bounce_have_ids_of_their_own_and_the_second_finds_nothing_to_remove() -> None:
    bounce, change = event_of("bounce_hard"), event_of("subscription_hard_bounce")

    assert bounce.event_id != change.event_id
    assert (bounce.kind, bounce.recipient) == (change.kind, change.recipient)
    assert decide(bounce, b"{}", None, RECEIVED_AT) is Outcome.REMOVED
    assert decide(change, None, None, RECEIVED_AT) is Outcome.ABSENT


def test_ids_are_stable_and_distinct() -> None:
    bounce = {"RecordType": "Bounce", "Type": "HardBounce", "Email": JANE}
    mail = {"RecordType": "Delivery", "MessageID": "m1", "DeliveredAt": "2026-11-22T23:41:12Z"}
    bodies = [
        bounce | {"ID": 1},
        bounce | {"ID": 2},
        mail | {"Recipient": JANE},
        mail | {"Recipient": JOHN},
        mail | {"Recipient": JANE, "DeliveredAt": "2026-11-22T23:41:13Z"},
        mail | {"Recipient": JANE, "MessageID": None},
    ]

    assert len(set(ids(POSTMARK, bodies))) == len(bodies)
    assert ids(POSTMARK, bodies) == ids(POSTMARK, bodies)


@pytest.mark.parametrize("own_id", [None, "", {}, True])
def test_a_bounce_without_a_number_has_an_id_made_of_its_parts(own_id: object) -> None:
    first, second = only_event(said_of(ID=own_id)), only_event(said_of(ID=own_id, MessageID="another"))

    assert first.event_id.startswith("postmark:composite-")
    assert first.event_id != second.event_id


def test_a_number_beyond_floats_is_kept_exactly() -> None:
    assert only_event(said_of(ID=2**63 - 1)).event_id == "postmark:9223372036854775807"


@pytest.mark.parametrize("code", [None, 512, 100001, "100001", 1, 4096])
@pytest.mark.parametrize(
    ("type_", "kind"), [("HardBounce", HARD), ("SpamNotification", SOFT), ("Transient", Kind.DEFERRED)]
)
def test_the_text_of_the_type_decides_and_never_its_number(code: object, type_: str, kind: Kind) -> None:
    assert only_event(said_of(Type=type_, TypeCode=code)).kind is kind


@pytest.mark.parametrize("type_", ["hardbounce", "HARDBOUNCE", "HardBounce"])
def test_a_type_may_be_written_in_any_case(type_: str) -> None:
    assert only_event(said_of("bounce", Type=type_)).kind is HARD


@pytest.mark.parametrize("inactive", [True, False, None, "true"])
def test_whether_postmark_deactivated_the_address_is_told_and_decides_nothing(inactive: object) -> None:
    event = only_event(said_of(Type="SoftBounce", Inactive=inactive))

    assert event.kind is SOFT
    assert ("deactivated" in event.detail) is (inactive is True)


@pytest.mark.parametrize("record_type", ["SpamComplaint", "Bounce"])
def test_a_spam_complaint_is_one_under_either_record_type(record_type: str) -> None:
    assert only_event(said_of(record_type, Type="SpamComplaint", TypeCode=512)).kind is Kind.COMPLAINT


def test_a_subscription_change_because_of_a_bounce_removes_the_address_in_its_own_field() -> None:
    event = only_event(
        read(
            POSTMARK,
            {
                "RecordType": "SubscriptionChange",
                "Recipient": JANE,
                "SuppressSending": True,
                "SuppressionReason": "HardBounce",
            },
        )
    )

    assert (event.kind, event.recipient) == (HARD, JANE)


@pytest.mark.parametrize("suppressed", [False, None, "true", 1])
@pytest.mark.parametrize("reason", ["HardBounce", "SpamComplaint", None])
def test_a_subscription_change_that_does_not_stop_sending_removes_nobody(suppressed: object, reason: object) -> None:
    said = said_of("SubscriptionChange", Recipient=JANE, SuppressSending=suppressed, SuppressionReason=reason)

    assert outcomes(said) == [(COUNTED, "postmark.other")]


@pytest.mark.parametrize("type_", ["AutoResponder", "ChallengeVerification", "Unknown", "AddressChange"])
def test_an_automatic_reply_removes_nobody(type_: str) -> None:
    assert not any(event.removes for event in said_of(Type=type_, TypeCode=32, Inactive=False).events)


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, {JOHN}", "nobody"])
def test_a_removal_that_names_no_single_recipient_is_parked(email: object) -> None:
    said = said_of(Email=email)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [0], {})


@pytest.mark.parametrize("metadata", [None, [], "x", 5, {"mailward_env": 5}])
def test_odd_metadata_are_as_good_as_none(metadata: object) -> None:
    assert only_event(said_of(Metadata=metadata)).environment == ""


@pytest.mark.parametrize("record_type", [None, 5, [], True])
def test_an_object_without_a_record_type_is_parked(record_type: object) -> None:
    assert outcomes(said_of(record_type)) == [(PARKED, "the item has no RecordType")]
