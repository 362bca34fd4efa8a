"""Mailjet: what each of its posts comes to, and what is read from an event."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from core.events import Event, Kind
from providers.base import Normalised
from providers.composed import Composed
from providers.mailjet import mailjet
from tests.unit.providers.payloads import RECEIVED_AT, names, recorded
from tests.unit.providers.reading import COUNTED, JANE, JOHN, PARKED, Outcome, ids, only_event, outcomes, read
from tests.unit.providers.security_cases import SecurityCases

HARD, SOFT = Kind.HARD_BOUNCE, Kind.SOFT_BOUNCE
MAILJET = mailjet(("mailjet:a-made-up-password",))

RECORDED: dict[str, list[Outcome]] = {
    "empty_batch": [],
    "sent": [(Kind.DELIVERED, "mailjet.sent")],
    "sent_bare_object": [(Kind.DELIVERED, "mailjet.sent")],
    "bounce_hard_recipient": [(HARD, "mailjet.hard_bounce")],
    "bounce_hard_domain": [(HARD, "mailjet.hard_bounce")],
    "bounce_hard_bare_object": [(HARD, "mailjet.hard_bounce")],
    "bounce_hard_content": [(SOFT, "mailjet.hard_bounce_not_the_mailbox")],
    "bounce_hard_spam": [(SOFT, "mailjet.hard_bounce_not_the_mailbox")],
    "bounce_hard_system": [(SOFT, "mailjet.hard_bounce_not_the_mailbox")],
    "bounce_hard_mailjet": [(SOFT, "mailjet.hard_bounce_not_the_mailbox")],
    "bounce_greylisted": [(SOFT, "mailjet.soft_bounce")],
    "bounce_soft": [(SOFT, "mailjet.soft_bounce")],
    "bounce_unstated": [(SOFT, "mailjet.soft_bounce")],
    "bounce_null_fields": [(PARKED, "hard_bounce without a single recipient: there is no address")],
    "blocked": [(Kind.REJECTED, "mailjet.blocked")],
    "spam": [(Kind.COMPLAINT, "mailjet.spam")],
    "unsub": [(Kind.UNSUBSCRIBED, "mailjet.unsubscribed")],
    "open": [(COUNTED, "mailjet.other")],
    "click": [(COUNTED, "mailjet.other")],
    "unknown_event": [(COUNTED, "mailjet.other")],
    "batch": [(Kind.DELIVERED, "mailjet.sent"), (Kind.COMPLAINT, "mailjet.spam"), (COUNTED, "mailjet.other")],
    "batch_with_broken_items": [
        (Kind.COMPLAINT, "mailjet.spam"),
        (PARKED, "the item is not a JSON object"),
        (PARKED, "the item is not a JSON object"),
        (PARKED, "the item has no event"),
        (HARD, "mailjet.hard_bounce"),
    ],
}


class TestSecurity(SecurityCases):
    name = "mailjet"
    secret, next_secret = "mailjet:a-made-up-password", "mailjet:the-next-made-up-password"
    signature_header = "authorization"
    covers_body = False
    window_s = future_s = None
    kinds_never_told = frozenset({Kind.ACCEPTED, Kind.DEFERRED})

    def make(self, *secrets: str) -> Composed:
        return mailjet(secrets)


def bounce(**fields: Any) -> dict[str, Any]:
    event = {"event": "bounce", "email": JANE, "MessageID": 1, "time": 1795390872, "hard_bounce": True}
    return event | {"blocked": False, "error_related_to": "recipient", "error": "user unknown"} | fields


def said_of(**fields: Any) -> Normalised:
    return read(MAILJET, [bounce(**fields)])


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("mailjet") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: list[Outcome]) -> None:
    said = read(MAILJET, recorded("mailjet", name))

    assert outcomes(said) == expected
    assert {event.recipient for event in said.events} <= {JANE, JOHN}


def test_an_event_carries_all_that_is_known() -> None:
    event = only_event(read(MAILJET, recorded("mailjet", "sent")))

    assert event.event_id.startswith("mailjet:composite-")
    assert event == Event(
        event_id=event.event_id,
        provider="mailjet",
        kind=Kind.DELIVERED,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="mailjet.sent",
        provider_message_id="19421777835146490",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="sent (250 2.0.0 OK 1795390872)",
    )


def test_one_object_an_array_of_it_and_an_empty_array_are_all_read() -> None:
    bare, grouped = read(MAILJET, bounce()), read(MAILJET, [bounce()])

    assert only_event(bare) == only_event(grouped)
    assert read(MAILJET, []) == Normalised()


@pytest.mark.parametrize("number", [2**53 + 1, 19421777835146491, 2**63 - 1])
def test_a_message_id_beyond_floats_is_kept_exactly(number: int) -> None:
    assert only_event(said_of(MessageID=number)).provider_message_id == str(number)
    assert only_event(said_of(MessageID=str(number))).provider_message_id == str(number)


def test_without_a_number_the_other_id_of_the_mail_is_taken() -> None:
    assert only_event(said_of(MessageID=None, Message_GUID="1ab23cd4")).provider_message_id == "1ab23cd4"


@pytest.mark.parametrize("hard", [True, 1, "1", "true", "True"])
def test_hardness_may_be_stated_as_a_boolean_or_in_its_place(hard: object) -> None:
    assert only_event(said_of(hard_bounce=hard)).kind is HARD


@pytest.mark.parametrize("hard", [False, None, 0, "0", "false", "", "yes", [True], {"1": 1}, 2])
def test_a_bounce_that_does_not_state_hardness_is_soft(hard: object) -> None:
    assert only_event(said_of(hard_bounce=hard)).kind is SOFT


@pytest.mark.parametrize("cause", ["content", "spam", "system", "mailjet", "Content"])
@pytest.mark.parametrize("hard", [True, "1"])
def test_a_hard_bounce_whose_cause_is_not_the_address_removes_nobody(cause: str, hard: object) -> None:
    assert only_event(said_of(error_related_to=cause, hard_bounce=hard)).kind is SOFT


@pytest.mark.parametrize("name", ["blocked", "sent", "open"])
def test_only_a_bounce_can_be_hard(name: str) -> None:
    assert not any(event.removes for event in said_of(event=name).events)


def test_ids_are_stable_and_distinct() -> None:
    bodies = [
        [bounce()],
        [bounce(event="spam")],
        [bounce(email=JOHN)],
        [bounce(MessageID=2)],
        [bounce(time=1795390873)],
        [bounce(MessageID=19421777835146490)],
        [bounce(MessageID=19421777835146491)],
    ]

    assert len(set(ids(MAILJET, bodies))) == len(bodies)
    assert ids(MAILJET, bodies) == ids(MAILJET, bodies)


def test_the_id_does_not_change_with_what_mailjet_adds_to_a_repeat() -> None:
    assert ids(MAILJET, [[bounce()]]) == ids(MAILJET, [[bounce(comment="second try", MessageID="1")]])


@pytest.mark.parametrize("time", [None, "", "soon", True, [], 10**400])
def test_a_time_that_cannot_be_read_is_that_of_its_receipt(time: object) -> None:
    assert only_event(said_of(time=time)).occurred_at == RECEIVED_AT


@pytest.mark.parametrize(
    "written", ["", "order 7", "{", "[]", "null", '{"mailward_env": 5}', 5, None, "\ud800", "[" * 9000]
)
def test_a_payload_of_the_users_own_names_nobody(written: object) -> None:
    assert only_event(said_of(Payload=written)).environment == ""


def test_tags_stand_in_the_payload_as_json() -> None:
    assert only_event(said_of(Payload=json.dumps({"mailward_env": "production"}))).environment == "production"


@pytest.mark.parametrize("email", ["Jane.Doe@Example.COM", " jane.doe@example.com\n", "JANE.DOE@EXAMPLE.COM"])
def test_an_address_in_another_case_is_the_same_recipient(email: str) -> None:
    assert only_event(said_of(email=email)).recipient == JANE


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, {JOHN}", "nobody"])
def test_a_removal_that_names_no_single_recipient_is_parked(email: object) -> None:
    said = said_of(email=email)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [0], {})


def test_the_broken_items_of_a_batch_are_parked_by_their_index_and_the_others_go_on() -> None:
    said = read(MAILJET, recorded("mailjet", "batch_with_broken_items"))

    assert [event.recipient for event in said.events] == [JANE, JOHN]
    assert said.indexes == (0, 4)
    assert [item.index for item in said.parked] == [1, 2, 3]
