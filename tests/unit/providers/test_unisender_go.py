"""Unisender Go: what each event of a batch or a flat post comes to; its proof has tests of its own."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from config.settings import load
from core.events import Event, Kind
from providers.base import Normalised, Post, Provider
from providers.unisender_go import ANSWERS, ENTRY, unisender_go
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import only_event
from tests.unit.providers.security_cases import SECRET, SENT_AT, SecurityCases

JANE, JOHN = "jane.doe@example.com", "john@example.org"
HARD = (Kind.HARD_BOUNCE, "unisender_go.hard_bounced")
SPAM = (Kind.COMPLAINT, "unisender_go.spam")
SOFT_HARD = (Kind.SOFT_BOUNCE, "unisender_go.hard_not_the_mailbox")

# name -> the kinds and rules of its events, the indexes of its parked items, the kinds that are counted only
RECORDED: dict[str, tuple[list[tuple[Kind, str]], list[int], dict[Kind, int]]] = {
    "sent": ([(Kind.ACCEPTED, "unisender_go.sent")], [], {}),
    "delivered": ([(Kind.DELIVERED, "unisender_go.delivered")], [], {}),
    "unsubscribed": ([(Kind.UNSUBSCRIBED, "unisender_go.unsubscribed")], [], {}),
    "spam": ([SPAM], [], {}),
    "soft_bounced": ([(Kind.SOFT_BOUNCE, "unisender_go.soft_bounced")], [], {}),
    "hard_user_unknown": ([HARD], [], {}),
    "hard_domain_inactive": ([HARD], [], {}),
    "hard_without_reason": ([HARD], [], {}),
    "hard_spam_rejected": ([SOFT_HARD], [], {}),
    "hard_mailbox_full": ([SOFT_HARD], [], {}),
    "hard_unsubscribed": ([(Kind.UNSUBSCRIBED, "unisender_go.hard_unsubscribed")], [], {}),
    "null_fields": ([SPAM], [], {}),
    "empty_metadata": ([SPAM], [], {}),
    "flat_event": ([HARD], [], {}),
    "opened": ([], [], {Kind.OTHER: 1}),
    "clicked": ([], [], {Kind.OTHER: 1}),
    "subscribed": ([], [], {Kind.OTHER: 1}),
    "spam_block": ([], [], {Kind.OTHER: 1}),
    "flat_spam_block": ([], [], {Kind.OTHER: 1}),
    "unknown_status": ([], [], {Kind.OTHER: 1}),
    "unknown_event_name": ([], [], {Kind.OTHER: 1}),
    "without_email": ([], [0], {}),
    "several_recipients": ([], [0], {}),
    "empty_batch": ([], [], {}),
    "user_without_events": ([], [], {}),
    "batch": ([SPAM, (Kind.DELIVERED, "unisender_go.delivered"), HARD], [], {Kind.OTHER: 1}),
    "batch_with_broken_items": ([SPAM, HARD], [1, 2, 3, 4], {}),
}


class TestSecurity(SecurityCases):
    name = "unisender_go"
    signature_header = None
    window_s = None
    future_s = None
    kinds_never_told = frozenset({Kind.DEFERRED, Kind.REJECTED})

    def make(self, *secrets: str) -> Provider:
        return unisender_go(secrets)

    def without_proof(self, post: Post) -> Post:
        return replace(post, body=re.sub(rb'"auth":"[0-9a-f]{32}",', b"", post.body))


def read(body: bytes) -> Normalised:
    return unisender_go((SECRET,)).normalise(posted(body))


def said_of(**fields: object) -> Normalised:
    body = json.loads(recorded("unisender_go", "spam"))
    body["events_by_user"][0]["events"][0]["event_data"].update(fields)
    return read(json.dumps(body).encode())


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("unisender_go") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(
    name: str, expected: tuple[list[tuple[Kind, str]], list[int], dict[Kind, int]]
) -> None:
    said = read(recorded("unisender_go", name))

    assert [(event.kind, event.rule) for event in said.events] == expected[0]
    assert [item.index for item in said.parked] == expected[1]
    assert dict(said.counted) == expected[2]


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_recorded_payload_is_verified_once_it_is_signed(name: str) -> None:
    provider = unisender_go((SECRET,))
    post = provider.sign(recorded("unisender_go", name), "evt_1", SENT_AT)

    assert provider.verify(replace(posted(post.body), headers=post.headers)) == "1 of 1"


def test_an_event_carries_all_that_is_known() -> None:
    event = only_event(read(recorded("unisender_go", "hard_user_unknown")))

    assert event == Event(
        event_id=event.event_id,
        provider="unisender_go",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="unisender_go.hard_bounced",
        provider_message_id="job-0042",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="err_user_unknown; 550 5.1.1 no such user",
    )
    assert event.event_id.startswith("unisender_go:composite-")


def test_a_flat_post_says_the_same_as_a_batch_of_one() -> None:
    flat = only_event(read(recorded("unisender_go", "flat_event")))

    assert flat == only_event(read(recorded("unisender_go", "hard_user_unknown")))


def test_events_of_all_users_of_a_batch_are_read_in_order() -> None:
    said = read(recorded("unisender_go", "batch"))

    assert [event.recipient for event in said.events] == [JANE, JOHN, "jill@example.net"]
    assert said.indexes == (0, 2, 3)


def test_a_retry_whose_counter_has_moved_on_has_the_same_id() -> None:
    first, second = (only_event(said_of(retry_count=count)).event_id for count in (0, 7))

    assert first == second


@pytest.mark.parametrize(
    "other",
    [{"status": "hard_bounced"}, {"email": JOHN}, {"job_id": "job-2"}, {"event_time": "2026-11-22 23:41:13"}],
)
def test_another_status_recipient_job_or_time_is_another_event(other: dict[str, object]) -> None:
    assert only_event(said_of(**other)).event_id != only_event(said_of()).event_id


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, {JOHN}"])
def test_a_removal_that_names_no_single_recipient_is_parked(email: object) -> None:
    said = said_of(email=email)

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


@pytest.mark.parametrize("name", [[], ["transactional_email_status"], {"name": "transactional_email_status"}, 5, True])
def test_an_event_whose_name_is_no_text_removes_nobody(name: object) -> None:
    body = json.loads(recorded("unisender_go", "spam"))
    body["events_by_user"][0]["events"][0]["event_name"] = name
    said = read(json.dumps(body).encode())

    assert (said.events, [item.reason for item in said.parked]) == ((), ["the event_name is not a text"])


@pytest.mark.parametrize("reason", ["ERR_SPAM_REJECTED", "Err_Mailbox_Full"])
def test_the_letters_of_a_reason_may_be_of_either_case(reason: str) -> None:
    said = said_of(status="HARD_BOUNCED", delivery_info={"delivery_status": reason})

    assert only_event(said).kind is Kind.SOFT_BOUNCE


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"\x1f\x8b",
        b'{"auth":"x","events_by_user":"text"}',
        b'{"events_by_user":{"events":[]}}',
    ],
)
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


def test_a_batch_that_is_null_needs_no_work() -> None:
    assert read(b'{"auth":"x","events_by_user":null}') == Normalised()


def test_unisender_go_is_answered_before_it_gives_up_and_may_ask_with_get() -> None:
    assert (ANSWERS.deadline_s, ANSWERS.probes) == (2.0, {"GET"})


def test_the_settings_make_it() -> None:
    assert ENTRY.make(load({}), lambda _: b"") is None
    assert ENTRY.make(load({"UNISENDER_GO_API_KEYS": SECRET}), lambda _: b"") is not None
