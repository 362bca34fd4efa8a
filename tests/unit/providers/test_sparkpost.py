"""SparkPost: what each of its batches comes to, and what is read from an event."""

from datetime import UTC, datetime
from typing import Any

import pytest

from core.events import Event, Kind
from providers.base import Normalised
from providers.composed import Composed
from providers.sparkpost import sparkpost
from tests.unit.providers.payloads import RECEIVED_AT, names, recorded
from tests.unit.providers.reading import COUNTED, JANE, JOHN, PARKED, Outcome, ids, only_event, outcomes, read
from tests.unit.providers.security_cases import SecurityCases

HARD, SOFT, REJECTED = Kind.HARD_BOUNCE, Kind.SOFT_BOUNCE, Kind.REJECTED
SPARKPOST = sparkpost(("sparkpost:a-made-up-password",))
NOBODY = (PARKED, "hard_bounce without a single recipient: there is no address")

RECORDED: dict[str, list[Outcome]] = {
    "ping": [],
    "empty_batch": [],
    "injection": [(Kind.ACCEPTED, "sparkpost.injected")],
    "delivery": [(Kind.DELIVERED, "sparkpost.delivered")],
    "delay": [(Kind.DEFERRED, "sparkpost.delayed")],
    "bounce_10_text": [(HARD, "sparkpost.no_such_recipient")],
    "bounce_10_number": [(HARD, "sparkpost.no_such_recipient")],
    "bounce_30": [(HARD, "sparkpost.no_such_recipient")],
    "bounce_1": [(SOFT, "sparkpost.other_bounce")],
    "bounce_22": [(SOFT, "sparkpost.other_bounce")],
    "bounce_25": [(REJECTED, "sparkpost.admin_failure")],
    "bounce_40": [(SOFT, "sparkpost.other_bounce")],
    "bounce_51": [(SOFT, "sparkpost.other_bounce")],
    "bounce_60": [(SOFT, "sparkpost.other_bounce")],
    "bounce_80": [(COUNTED, "sparkpost.bounce_subscribe")],
    "bounce_90": [(Kind.UNSUBSCRIBED, "sparkpost.bounce_unsubscribe")],
    "bounce_without_class": [(SOFT, "sparkpost.other_bounce")],
    "bounce_invented_class": [(SOFT, "sparkpost.other_bounce")],
    "bounce_with_siblings": [(HARD, "sparkpost.no_such_recipient")],
    "bounce_null_fields": [NOBODY],
    "out_of_band_10": [(HARD, "sparkpost.no_such_recipient")],
    "out_of_band_without_recipient": [NOBODY],
    "spam_complaint": [(Kind.COMPLAINT, "sparkpost.spam_complaint")],
    "list_unsubscribe": [(Kind.UNSUBSCRIBED, "sparkpost.unsubscribed")],
    "link_unsubscribe": [(Kind.UNSUBSCRIBED, "sparkpost.unsubscribed")],
    "policy_rejection": [(REJECTED, "sparkpost.not_attempted")],
    "generation_rejection": [(REJECTED, "sparkpost.not_attempted")],
    "generation_failure": [(REJECTED, "sparkpost.not_attempted")],
    "open": [(COUNTED, "sparkpost.other")],
    "relay_delivery": [(COUNTED, "sparkpost.other")],
    "unknown_type": [(COUNTED, "sparkpost.other")],
    "batch": [
        (Kind.DELIVERED, "sparkpost.delivered"),
        (Kind.COMPLAINT, "sparkpost.spam_complaint"),
        (COUNTED, "sparkpost.other"),
    ],
    "batch_with_broken_items": [
        (Kind.COMPLAINT, "sparkpost.spam_complaint"),
        (PARKED, "the item is not a JSON object"),
        (PARKED, "the item is not a JSON object"),
        (PARKED, "the item has no msys object"),
        (PARKED, "msys holds something without a type"),
        (PARKED, "msys holds something without a type"),
        (HARD, "sparkpost.no_such_recipient"),
    ],
}


class TestSecurity(SecurityCases):
    name = "sparkpost"
    secret, next_secret = "sparkpost:a-made-up-password", "sparkpost:the-next-made-up-password"
    signature_header = "authorization"
    covers_body = False
    window_s = future_s = None

    def make(self, *secrets: str) -> Composed:
        return sparkpost(secrets)


def message(**fields: Any) -> dict[str, Any]:
    event = {"type": "bounce", "bounce_class": "10", "event_id": "7", "rcpt_to": JANE, "raw_rcpt_to": JANE}
    return {"msys": {"message_event": event | fields}}


def said_of(**fields: Any) -> Normalised:
    return read(SPARKPOST, [message(**fields)])


def event_of(name: str) -> Event:
    return only_event(read(SPARKPOST, recorded("sparkpost", name)))


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("sparkpost") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: list[Outcome]) -> None:
    said = read(SPARKPOST, recorded("sparkpost", name))

    assert outcomes(said) == expected
    assert {event.recipient for event in said.events} <= {JANE, JOHN}


@pytest.mark.parametrize("name", ["ping", "empty_batch"])
def test_a_ping_and_an_empty_batch_ask_for_nothing(name: str) -> None:
    assert read(SPARKPOST, recorded("sparkpost", name)) == Normalised()


def test_an_event_carries_all_that_is_known() -> None:
    event = event_of("delivery")

    assert event.event_id.startswith("sparkpost:84345317653")
    assert event == Event(
        event_id=event.event_id,
        provider="sparkpost",
        kind=Kind.DELIVERED,
        recipient=JANE,
        recipient_verbatim="Jane.Doe@example.com",
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="sparkpost.delivered",
        provider_message_id="84345317650824116",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
    )


def test_the_detail_is_the_reason_without_the_address() -> None:
    assert event_of("bounce_10_text").detail == "10; 550; 550 5.1.1 ...@... made up"


@pytest.mark.parametrize("bounce_class", ["10", 10, "30", 30])
def test_a_class_may_be_a_text_or_a_number(bounce_class: object) -> None:
    assert only_event(said_of(bounce_class=bounce_class)).kind is HARD


@pytest.mark.parametrize("bounce_class", [None, "", True, [10], {"10": 1}, 1, 100, "010", 10.5, "Hard"])
def test_a_class_that_is_not_exactly_a_hard_one_removes_nobody(bounce_class: object) -> None:
    assert only_event(said_of(bounce_class=bounce_class)).kind is SOFT


@pytest.mark.parametrize("time", ["1795390872", 1795390872, "2026-11-22T23:41:12.000Z"])
def test_a_time_may_be_seconds_or_a_text(time: object) -> None:
    assert only_event(said_of(timestamp=time)).occurred_at == datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC)


@pytest.mark.parametrize("time", [None, "", "soon", True, [], 10**400])
def test_a_time_that_cannot_be_read_is_that_of_its_receipt(time: object) -> None:
    assert only_event(said_of(timestamp=time)).occurred_at == RECEIVED_AT


@pytest.mark.parametrize(
    ("recipient", "raw", "verbatim"),
    [
        (JANE, "Jane.Doe@Example.com", "Jane.Doe@Example.com"),
        (JANE, None, JANE),
        (None, "Jane.Doe@example.com", "Jane.Doe@example.com"),
        (JANE, JOHN, JANE),
        (JANE, ["Jane.Doe@example.com"], JANE),
    ],
)
def test_the_recipient_is_written_as_the_mail_had_it_where_that_is_the_same_one(
    recipient: object, raw: object, verbatim: str
) -> None:
    event = only_event(said_of(rcpt_to=recipient, raw_rcpt_to=raw))

    assert (event.recipient, event.recipient_verbatim) == (JANE, verbatim)


def test_the_case_of_the_local_part_survives_where_that_is_the_setting() -> None:
    provider = sparkpost(("sparkpost:a-made-up-password",), keep_local_case=True)

    assert only_event(read(provider, [message(raw_rcpt_to="Jane.Doe@Example.com")])).recipient == "Jane.Doe@example.com"


@pytest.mark.parametrize("recipient", [5, [JANE], "", f"{JANE}, {JOHN}", "nobody"])
def test_a_removal_that_names_no_single_recipient_is_parked(recipient: object) -> None:
    said = said_of(rcpt_to=recipient, raw_rcpt_to=None)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [0], {})


def test_the_broken_items_of_a_batch_are_parked_by_their_index_and_the_others_go_on() -> None:
    said = read(SPARKPOST, recorded("sparkpost", "batch_with_broken_items"))

    assert [event.recipient for event in said.events] == [JANE, JOHN]
    assert said.indexes == (0, 7)
    assert [item.index for item in said.parked] == [1, 2, 3, 4, 5]


def test_each_class_of_an_item_is_an_event_of_its_own() -> None:
    both = message()["msys"] | {"unsubscribe_event": {"type": "link_unsubscribe", "event_id": "8", "rcpt_to": JANE}}

    assert [event.kind for event in read(SPARKPOST, [{"msys": both}]).events] == [HARD, Kind.UNSUBSCRIBED]


def test_ids_are_stable_and_distinct() -> None:
    mail = {"event_id": None, "message_id": "m1", "timestamp": "1795390872"}
    bodies = [
        [message(event_id="84345317653491230")],
        [message(event_id=84345317653491231)],
        [message(**mail)],
        [message(**mail | {"message_id": "m2"})],
        [message(**mail, rcpt_to=JOHN)],
        [message(**mail, type="spam_complaint")],
    ]

    assert len(set(ids(SPARKPOST, bodies))) == len(bodies)
    assert ids(SPARKPOST, bodies) == ids(SPARKPOST, bodies)
    assert ids(SPARKPOST, bodies[:2]) == ["sparkpost:84345317653491230", "sparkpost:84345317653491231"]


@pytest.mark.parametrize("metadata", [None, [], "", "{", 5, {"mailward_env": []}])
def test_odd_metadata_are_as_good_as_none(metadata: object) -> None:
    assert only_event(said_of(rcpt_meta=metadata)).environment == ""
