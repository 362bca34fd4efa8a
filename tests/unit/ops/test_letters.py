"""What a dead letter says about itself."""

from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest

from core.dead_letter_log import Failure
from core.parked import ParkedReason
from ops.letters import CRASHED, REASON_LIMIT, Lane
from tests.unit.ops.letter_samples import NOON, died, letter, parked_letter

LOGGED = Failure("email-events", "made-up:1", 0, 3, NOON, "WrongType", "a record is a hash\nsecond line", "Traceback")


def test_the_newest_death_decides_between_failed_and_crash_loop() -> None:
    assert letter(headers=died("rejected")).lane is Lane.FAILED
    assert letter(headers=died("delivery_limit")).lane is Lane.CRASH_LOOP
    assert letter(headers={}).lane is Lane.FAILED


def test_a_message_of_the_parked_lane_is_parked_whatever_its_headers_say() -> None:
    assert parked_letter(b"x", ParkedReason(0, "odd")).lane is Lane.PARKED


def test_the_id_is_the_message_id_or_else_made_of_the_body() -> None:
    assert letter(message_id="resend:msg_1").id == "resend:msg_1"
    assert letter(b"not json", message_id=None).id == f"sha256:{sha256(b'not json').hexdigest()[:24]}"


def test_the_error_comes_from_the_log_then_from_the_last_retry_then_from_the_broker() -> None:
    bare = letter(headers=died("rejected"))
    retried = letter(headers=died("rejected") | {"last_error": "WrongType: a record is a hash"})

    assert bare.error == "rejected, and no error was logged"
    assert retried.error == "WrongType: a record is a hash"
    assert replace(retried, failure=LOGGED).error == "WrongType: a record is a hash\nsecond line"
    assert letter(headers=died("delivery_limit")).error == CRASHED
    assert letter(b"[]").error == "Undecodable: not_an_object: the body is a JSON list"


def test_reasons_are_one_short_line_without_addresses_so_that_they_collapse() -> None:
    one = replace(letter(), failure=replace(LOGGED, error="no room for reader1@example.com\n[parameters]"))
    other = replace(letter(), failure=replace(LOGGED, error="no room for reader2@example.com\n[others]"))

    assert one.reason == other.reason == "WrongType: no room for <address>"
    assert len(replace(letter(), failure=replace(LOGGED, error="x" * 500)).reason) == REASON_LIMIT


def test_a_parked_reason_names_the_provider_and_each_reason_once() -> None:
    items = [ParkedReason(0, "names nobody"), ParkedReason(1, "names nobody"), ParkedReason(2, "an odd word")]

    assert parked_letter(b"x", *items).reason == "made-up: an odd word; names nobody"


def test_it_is_known_since_when_a_letter_lies_there() -> None:
    logged_at = NOON + timedelta(milliseconds=5)

    assert letter(headers=died("rejected")).since == NOON
    assert replace(letter(headers=died("rejected")), failure=replace(LOGGED, failed_at=logged_at)).since == logged_at
    assert parked_letter(b"x", ParkedReason(0, "odd")).since == NOON
    assert letter(headers={}).since is None


@pytest.mark.parametrize("nonsense", [None, "3", -1, [], {"a": 1}])
def test_nonsense_in_headers_counts_as_a_first_attempt_never_replayed(nonsense: object) -> None:
    odd = letter(headers={"attempt": nonsense, "replays": nonsense, "x-death": nonsense})

    assert (odd.attempt, odd.replays, odd.lane) == (1, 0, Lane.FAILED)
