"""Brevo: what each of its posts comes to, what is read from an event, and how it is answered."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from core.events import Event, Kind
from providers.base import Normalised, ProofRefused, Request
from providers.brevo import brevo
from providers.composed import Composed
from tests.unit.providers.payloads import RECEIVED_AT, names, recorded
from tests.unit.providers.reading import COUNTED, JANE, JOHN, PARKED, Outcome, ids, only_event, outcomes, read
from tests.unit.providers.security_cases import SecurityCases

HARD = Kind.HARD_BOUNCE
TOKEN = "a-made-up-token-of-32-characters"
BREVO = brevo((TOKEN,))
NOBODY = (PARKED, "hard_bounce without a single recipient: there is no address")

RECORDED: dict[str, list[Outcome]] = {
    "request": [(Kind.ACCEPTED, "brevo.requested")],
    "delivered": [(Kind.DELIVERED, "brevo.delivered")],
    "hard_bounce": [(HARD, "brevo.hard_bounce")],
    "hard_bounce_bare": [(HARD, "brevo.hard_bounce")],
    "hard_bounce_camel_case": [(HARD, "brevo.hard_bounce")],
    "hard_bounce_null_fields": [NOBODY],
    "invalid_email": [(HARD, "brevo.hard_bounce")],
    "soft_bounce": [(Kind.SOFT_BOUNCE, "brevo.soft_bounce")],
    "deferred_user_unknown": [(Kind.DEFERRED, "brevo.deferred")],
    "blocked": [(Kind.REJECTED, "brevo.not_attempted")],
    "error": [(Kind.REJECTED, "brevo.not_attempted")],
    "spam": [(Kind.COMPLAINT, "brevo.spam")],
    "complaint_without_epoch": [(Kind.COMPLAINT, "brevo.spam")],
    "unsubscribe": [(Kind.UNSUBSCRIBED, "brevo.unsubscribed")],
    "unsubscribed": [(Kind.UNSUBSCRIBED, "brevo.unsubscribed")],
    "unique_opened": [(COUNTED, "brevo.other")],
    "click": [(COUNTED, "brevo.other")],
    "proxy_open": [(COUNTED, "brevo.other")],
    "list_addition": [(COUNTED, "brevo.other")],
    "unknown_event": [(COUNTED, "brevo.other")],
    "empty_batch": [],
    "batch": [(Kind.DELIVERED, "brevo.delivered"), (Kind.COMPLAINT, "brevo.spam"), (COUNTED, "brevo.other")],
    "batch_with_broken_items": [
        (Kind.COMPLAINT, "brevo.spam"),
        (PARKED, "the item is not a JSON object"),
        (PARKED, "the item is not a JSON object"),
        (PARKED, "the item has no event"),
        (HARD, "brevo.hard_bounce"),
    ],
    "batch_in_an_unknown_wrapper": [(PARKED, "the item has no event")],
}


class TestSecurity(SecurityCases):
    name = "brevo"
    secret, next_secret = TOKEN, "brevo:the-next-made-up-password"
    signature_header = "authorization"
    covers_body = False
    window_s = future_s = None

    def make(self, *secrets: str) -> Composed:
        return brevo(secrets)


def event(**fields: Any) -> dict[str, Any]:
    return {
        "event": "hard_bounce",
        "email": JANE,
        "id": 9,
        "message-id": "<x@example.com>",
        "ts_event": 1795390872,
    } | fields


def said_of(**fields: Any) -> Normalised:
    return read(BREVO, event(**fields))


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("brevo") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: list[Outcome]) -> None:
    said = read(BREVO, recorded("brevo", name))

    assert outcomes(said) == expected
    assert {one.recipient for one in said.events} <= {JANE, JOHN}


def test_an_event_carries_all_that_is_known() -> None:
    accepted = only_event(read(BREVO, recorded("brevo", "request")))

    assert accepted.event_id.startswith("brevo:composite-")
    assert accepted == Event(
        event_id=accepted.event_id,
        provider="brevo",
        kind=Kind.ACCEPTED,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="brevo.requested",
        provider_message_id="<202611222341.27287306012@smtp-relay.example.net>",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="request",
    )


def test_brevo_is_sent_away_with_the_one_answer_after_which_it_tries_again() -> None:
    assert BREVO.answers.busy_status == 429


@pytest.mark.parametrize("authorization", ["", "Basic Og==", "Basic", "Bearer", "Bearer "])
def test_without_a_token_nobody_can_report_a_bounce(authorization: str) -> None:
    with pytest.raises(ProofRefused):
        BREVO.verify(Request({"authorization": authorization}, json.dumps(event()).encode(), RECEIVED_AT))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("spam", Kind.COMPLAINT),
        ("complaint", Kind.COMPLAINT),
        ("Complaint", Kind.COMPLAINT),
        ("hard_bounce", HARD),
        ("hardBounce", HARD),
        ("HARD_BOUNCE", HARD),
        ("invalid", HARD),
        ("invalid_email", HARD),
        ("soft_bounce", Kind.SOFT_BOUNCE),
        ("softBounce", Kind.SOFT_BOUNCE),
        ("unsubscribe", Kind.UNSUBSCRIBED),
        ("unsubscribed", Kind.UNSUBSCRIBED),
    ],
)
def test_every_spelling_of_an_event_means_the_same(name: str, kind: Kind) -> None:
    assert only_event(said_of(event=name)).kind is kind


@pytest.mark.parametrize("name", ["proxy_open", "loadedByProxy", "hard bounce", "bounce", ""])
def test_an_event_nobody_knows_is_counted(name: str) -> None:
    assert outcomes(said_of(event=name)) == [(COUNTED, "brevo.other")]


@pytest.mark.parametrize("reason", ["550 5.1.1 user unknown", "hard_bounce", None])
def test_a_deferral_stays_one_whatever_its_reason_says(reason: object) -> None:
    assert only_event(said_of(event="deferred", reason=reason)).kind is Kind.DEFERRED


@pytest.mark.parametrize("own_id", [1, "xxxxx", None, 9999999])
def test_the_id_of_the_webhook_is_not_that_of_the_event(own_id: object) -> None:
    assert ids(BREVO, [event(id=own_id)]) == ids(BREVO, [event()])


def test_ids_are_stable_and_distinct() -> None:
    undated = {"ts_event": None}
    bodies = [
        event(),
        event(event="spam"),
        event(email=JOHN),
        event(**{"message-id": "<y@example.com>"}),
        event(ts_event=1795390873),
        event(ts_epoch=1795390872126),
        event(**undated, date="2026-11-22 15:41:12"),
        event(**undated, date="2026-11-22 15:41:13"),
        event(**undated),
    ]

    assert len(set(ids(BREVO, bodies))) == len(bodies)
    assert ids(BREVO, bodies) == ids(BREVO, bodies)


@pytest.mark.parametrize(
    "times",
    [
        {"ts_epoch": 1795390872000},
        {"ts_epoch": "1795390872000"},
        {"ts_epoch": 1795390872},
        {"ts_epoch": None, "ts_event": 1795390872},
        {"ts_epoch": 0, "ts_event": 1795390872},
        {"ts_epoch": 1795390872000, "ts_event": 1795362072},  # eight hours off, in the account's own zone
    ],
)
def test_the_time_is_taken_from_the_field_that_is_surely_utc(times: dict[str, object]) -> None:
    assert only_event(said_of(**times)).occurred_at == datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC)


@pytest.mark.parametrize("time", [None, "", "soon", True, [], 0])
def test_a_time_without_a_known_zone_is_as_good_as_none(time: object) -> None:
    undated = said_of(ts_epoch=time, ts_event=None, ts=1795390872, date="2026-11-22 15:41:12")

    assert only_event(undated).occurred_at == RECEIVED_AT


@pytest.mark.parametrize(
    "tags",
    [{"tag": "news"}, {"tag": '["news"]'}, {"tags": ["news"]}, {"tags": "news"}, {"tag": None, "tags": [None, 5]}],
)
def test_the_tags_of_a_mail_change_nothing(tags: dict[str, object]) -> None:
    assert only_event(said_of(**tags)) == only_event(said_of())


@pytest.mark.parametrize("metadata", ['{"mailward_env": "production"}', {"mailward_env": "production"}])
def test_metadata_may_be_an_object_or_its_json(metadata: object) -> None:
    assert only_event(said_of(**{"X-Mailin-custom": metadata})).environment == "production"


@pytest.mark.parametrize("metadata", [None, "", "a:b|c:d", "{", "[]", "5", 5, '{"mailward_env": null}'])
def test_odd_metadata_are_as_good_as_none(metadata: object) -> None:
    assert only_event(said_of(**{"X-Mailin-custom": metadata})).environment == ""


def test_one_object_an_array_of_it_and_an_empty_array_are_all_read() -> None:
    assert only_event(read(BREVO, event())) == only_event(read(BREVO, [event()]))
    assert read(BREVO, []) == Normalised()


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, {JOHN}", "nobody"])
def test_a_removal_that_names_no_single_recipient_is_parked(email: object) -> None:
    said = said_of(email=email)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [0], {})


def test_the_broken_items_of_a_batch_are_parked_by_their_index_and_the_others_go_on() -> None:
    said = read(BREVO, recorded("brevo", "batch_with_broken_items"))

    assert [one.recipient for one in said.events] == [JANE, JOHN]
    assert said.indexes == (0, 4)
    assert [item.index for item in said.parked] == [1, 2, 3]
