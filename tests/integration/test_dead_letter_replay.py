"""Replaying, resolving and settling dead letters on real services: nothing is lost, nothing is done twice."""

import json
import sys
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from core import wire
from core.events import Kind
from core.parked import ParkedReason
from ops.replay import REPLAY_CAP
from tests.command_line import CommandLine
from tests.letters import crash, die, log_failure, lying, park, ready_command_line, work_off
from tests.system import START, System, event, wait_until

DIES_BEFORE_ACK = """
import os
from ops import scan
from ops.cli import main
scan.Scan.ack = lambda *_: os._exit(9)
main()
"""
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
NAMES_TWO = b"""{"type": "email.complained", "created_at": "2026-11-01T11:00:00Z",
    "data": {"email_id": "e1", "to": ["a@example.com", "b@example.com"]}}"""
NAMES_ONE = NAMES_TWO.replace(b', "b@example.com"', b"")


@pytest.fixture
def mailward(system: System) -> CommandLine:
    system.environ["RESEND_WEBHOOK_SECRETS"] = SECRET
    return ready_command_line(system)


def dead(system: System) -> list[str]:
    return [message_id for message_id, _, _ in lying(system, system.topology.events.dead_letters)]


def parked(system: System) -> list[str]:
    return [message_id for message_id, _, _ in lying(system, system.topology.events.parked)]


def at_work(system: System) -> list[tuple[str, dict[str, Any], bytes]]:
    return lying(system, system.topology.events.name)


def ids(system: System) -> list[str]:
    return [message_id for message_id, _, _ in at_work(system)]


def closed(system: System) -> list[tuple[Any, ...]]:
    rows = system.rows("SELECT message_id, attempt, body, closed_as, closed_reason FROM dead_letter_log ORDER BY id")
    return [tuple(row) for row in rows]


# --- replay ---


def test_a_replayed_letter_is_the_same_message_at_its_first_attempt(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)], {"attempt": 3, "replays": 1, "last_error": "WrongType", "own": "kept"})
    log_failure(system, "resend:msg_1", "a hash", replay=1)

    out = mailward.out("dlq", "replay", "--id", "resend:msg_1")

    assert out == "replayed 1 of 1 letter\n"
    assert at_work(system) == [("resend:msg_1", {"attempt": 1, "replays": 2, "own": "kept"}, wire.encode(event(1)))]
    assert dead(system) == []
    assert closed(system) == [("resend:msg_1", 3, None, "replayed", "")]


def test_a_cured_letter_is_removed_by_its_replay_and_a_second_replay_changes_nothing(
    system: System, mailward: CommandLine
) -> None:
    system.put(["reader1@example.com"], b'{"name": "Reader"}')
    die(system, [event(1), event(1)])

    mailward.out("dlq", "replay", "--all", "--yes", "--limit", "1")
    assert work_off(system) == {"removed": 1}
    journal = system.rows("SELECT * FROM journal")
    system.put(["reader1@example.com"], b"signed up again")
    mailward.out("dlq", "replay", "--all", "--yes")

    assert work_off(system) == {"duplicate": 1}
    assert system.rows("SELECT * FROM journal") == journal
    assert system.record("reader1@example.com") == b"signed up again"


def test_a_letter_without_an_id_is_found_and_replayed_by_its_hash(system: System, mailward: CommandLine) -> None:
    die(system, [b"not json"])

    mailward.out("dlq", "replay", "--id", "sha256:", "--force")

    ((message_id, headers, body),) = at_work(system)
    assert message_id.startswith("sha256:")
    assert (headers, body) == ({"attempt": 1, "replays": 1}, b"not json")


def test_letters_are_chosen_by_id_reason_or_lane(system: System, mailward: CommandLine) -> None:
    die(system, [event(number) for number in range(1, 5)])
    log_failure(system, "resend:msg_2", "this one")
    crash(system, event(9))

    mailward.out("dlq", "replay", "--id", "resend:msg_1", "--id", "resend:msg_3")
    assert ids(system) == ["resend:msg_1", "resend:msg_3"]
    mailward.out("dlq", "replay", "--reason", "THIS one", "--yes")
    assert ids(system)[2:] == ["resend:msg_2"]
    mailward.out("dlq", "replay", "--lane", "crash-loop", "--all", "--yes")

    assert ids(system)[3:] == ["resend:msg_9"]
    assert dead(system) == ["resend:msg_4"]


def test_letters_of_one_id_go_together(system: System, mailward: CommandLine) -> None:
    die(system, [event(1), event(2), event(1)])

    assert mailward.out("dlq", "replay", "--id", "resend:msg_1") == "replayed 2 of 2 letters\n"
    assert dead(system) == ["resend:msg_2"]


def test_a_limit_takes_the_oldest_and_keeps_the_order_of_the_rest(system: System, mailward: CommandLine) -> None:
    die(system, [event(number) for number in range(50)])

    mailward.out("dlq", "replay", "--all", "--yes", "--limit", "3")

    assert ids(system) == ["resend:msg_0", "resend:msg_1", "resend:msg_2"]
    assert dead(system) == [f"resend:msg_{number}" for number in range(3, 50)]


def test_all_needs_a_yes(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)])

    refused = mailward("dlq", "replay", "--all", stdin=b"n\n")
    assert refused.exit_code == 1
    assert "1 letter will be replayed" in refused.stdout
    assert ids(system) == []

    mailward.out("dlq", "replay", "--all", stdin=b"y\n")
    assert ids(system) == ["resend:msg_1"]


@pytest.mark.parametrize("which", [[], ["--all", "--id", "x"], ["--reason", ""], ["--all", "--reason", "x"]])
def test_one_way_of_choosing_must_be_named(system: System, mailward: CommandLine, which: list[str]) -> None:
    die(system, [event(1)])

    assert mailward("dlq", "replay", "--yes", *which).exit_code == 2
    assert ids(system) == []


def test_too_many_replays_and_unreadable_bodies_need_force_and_say_so(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)], {"attempt": 3, "replays": REPLAY_CAP})
    die(system, [b"not json", event(2)])

    result = mailward("dlq", "replay", "--all", "--yes")

    assert result.exit_code == 1
    assert "replayed 1 of 3 letters" in result.stdout
    assert f"replayed {REPLAY_CAP} times or more (--force" in result.stdout
    assert "still failing: not JSON" in result.stdout
    assert ids(system) == ["resend:msg_2"]
    assert len(dead(system)) == 2

    mailward.out("dlq", "replay", "--all", "--yes", "--force")
    assert dead(system) == []


def test_a_letter_is_not_acked_unless_its_copy_is_confirmed(system: System, mailward: CommandLine) -> None:
    die(system, [event(1), event(2)])
    work = system.topology.events.name
    with system.channel() as channel:
        channel.queue_unbind(work, system.topology.work_exchange, work)

    result = mailward("dlq", "replay", "--all", "--yes")

    assert result.exit_code == 1
    assert "replayed 0 of 2 letters" in result.stdout
    assert "stopped early" in result.stderr
    assert dead(system) == ["resend:msg_1", "resend:msg_2"]


def test_a_kill_between_confirm_and_ack_leaves_a_duplicate_and_no_hole(system: System, mailward: CommandLine) -> None:
    system.put([f"reader{number}@example.com" for number in range(5)])
    die(system, [event(number) for number in range(5)])
    command = ("-c", DIES_BEFORE_ACK, "dlq", "replay", "--all", "--yes")

    assert system.start(sys.executable, *command, name="killed").wait(30) == 9
    wait_until(lambda: len(dead(system)) == 5, "the letters back")
    copied = work_off(system)["removed"]  # as many as had been delivered when it died
    mailward.out("dlq", "replay", "--all", "--yes")

    assert copied > 0
    assert Counter(work_off(system)) == Counter(duplicate=copied, removed=5 - copied)
    assert dead(system) == []


def test_a_replay_ends_although_every_copy_fails_again_at_once(system: System, mailward: CommandLine) -> None:
    die(system, [b"not json %d" % number for number in range(300)])
    system.start()
    wait_until(lambda: "consuming" in system.log(), "a consumer")

    assert "replayed 300 of 300 letters" in mailward.out("dlq", "replay", "--all", "--force", "--yes")

    dead_letters = system.topology.events.dead_letters
    wait_until(lambda: system.depth(dead_letters) == 300, "all of them dead again")
    assert {headers["replays"] for _, headers, _ in lying(system, dead_letters)} == {1}
    open_rows = system.rows("SELECT replay FROM dead_letter_log WHERE closed_at IS NULL")
    assert [row.replay for row in open_rows] == [1] * 300


def test_two_thousand_letters_are_replayed_in_reasonable_time(system: System, mailward: CommandLine) -> None:
    die(system, [event(number) for number in range(2000)])

    started = time.monotonic()
    mailward.out("dlq", "replay", "--all", "--yes")

    assert time.monotonic() - started < 30
    assert system.depth(system.topology.events.name) == 2000
    assert system.depth(system.topology.events.dead_letters) == 0


# --- dry run ---


def test_a_dry_run_says_what_would_happen_to_each_letter_and_touches_nothing(
    system: System, mailward: CommandLine
) -> None:
    system.put(["reader1@example.com", "reader4@example.com"])
    system.put(["reader2@example.com"], b'{"eligible_since": "2026-11-02T00:00:00Z"}')
    system.redis.hset(system.key("reader6@example.com"), "a", "hash")
    system.publish([event(4)])
    work_off(system)
    events = [event(number) for number in (1, 2, 3, 4)] + [event(5, Kind.DELIVERED), event(6), event(1)]
    die(system, [*events, b"not json"])
    before = (dead(system), system.rows("SELECT * FROM journal"), system.record("reader1@example.com"))

    out = mailward.out("dlq", "replay", "--all", "--dry-run").splitlines()

    said = [line.partition("  ")[2].partition(":")[0] for line in out[:8]]
    outcomes = ["remove", "stale", "absent", "duplicate", "ignored", "still failing", "duplicate", "still failing"]
    assert said == outcomes
    assert "a Redis hash, not a string" in out[5]
    assert "not JSON" in out[7]
    assert (dead(system), system.rows("SELECT * FROM journal"), system.record("reader1@example.com")) == before
    assert ids(system) == []


def test_a_dry_run_is_true_of_the_replay_that_follows(system: System, mailward: CommandLine) -> None:
    system.put(["reader1@example.com", "Reader2@example.com"])
    die(system, [event(1), event(2, verbatim="Reader2@example.com"), event(3)])

    foreseen = mailward.out("dlq", "replay", "--all", "--dry-run")
    mailward.out("dlq", "replay", "--all", "--yes")

    assert "2  remove" in foreseen
    assert "1  absent" in foreseen
    assert work_off(system) == {"removed": 2, "absent": 1}


# --- parked ---


def test_parked_letters_are_left_alone_by_all_unless_their_lane_is_named(system: System, mailward: CommandLine) -> None:
    park(system, NAMES_ONE, [ParkedReason(0, "once not understood")])

    assert "nothing to be replayed" in mailward.out("dlq", "replay", "--all", "--yes")
    assert parked(system) == ["parked:1"]

    mailward.out("dlq", "replay", "--all", "--yes", "--lane", "parked")
    assert parked(system) == []


def test_a_parked_body_that_is_understood_today_becomes_the_event_it_would_have_been(
    system: System, mailward: CommandLine
) -> None:
    system.put(["a@example.com"])
    park(system, NAMES_ONE, [ParkedReason(0, "once not understood")])

    assert "remove" in mailward.out("dlq", "replay", "--id", "parked", "--dry-run")
    mailward.out("dlq", "replay", "--id", "parked")

    ((_, headers, body),) = at_work(system)
    replayed = wire.decode(body)
    assert headers == {"attempt": 1}
    assert (replayed.recipient, replayed.kind) == ("a@example.com", Kind.COMPLAINT)
    assert (replayed.occurred_at, replayed.received_at) == (START - timedelta(hours=1), START)
    assert work_off(system) == {"removed": 1}


@pytest.mark.parametrize(("provider", "words"), [("resend", "still parked"), ("postmark", "is not configured here")])
def test_a_parked_body_that_is_not_understood_stays_untouched(
    system: System, mailward: CommandLine, provider: str, words: str
) -> None:
    park(system, b"not json", [ParkedReason(-1, "the body is not JSON")], provider)
    before = lying(system, system.topology.events.parked)

    result = mailward("dlq", "replay", "--lane", "parked", "--all", "--yes")

    assert result.exit_code == 1
    assert words in result.stdout
    assert lying(system, system.topology.events.parked) == before
    assert ids(system) == []


def test_an_operator_completes_a_parked_complaint_that_names_nobody(system: System, mailward: CommandLine) -> None:
    system.put(["a@example.com", "b@example.com"])
    park(system, NAMES_TWO, [ParkedReason(0, "complaint without a single recipient")])

    mailward.out("dlq", "resolve", "--id", "parked:1", "--recipient", "B@Example.com")

    assert work_off(system) == {"removed": 1}
    assert (system.record("a@example.com"), system.record("b@example.com")) == (b"{}", None)
    assert parked(system) == []
    ((message_id, attempt, body, closed_as, why),) = closed(system)
    assert (message_id, attempt, closed_as) == ("parked:1", 0, "resolved")
    assert "b@example.com" in why.lower()
    assert json.loads(body)["provider"] == "resend"


def test_what_cannot_be_resolved_stays(system: System, mailward: CommandLine) -> None:
    park(system, b"not json", [ParkedReason(-1, "the body is not JSON")])

    result = mailward("dlq", "resolve", "--id", "parked:1", "--recipient", "a@example.com")

    assert result.exit_code == 1
    assert "dismiss" in result.stdout
    assert (parked(system), ids(system)) == (["parked:1"], [])


# --- discard and dismiss ---


def test_a_discarded_letter_leaves_its_bytes_and_the_reason_in_the_log(system: System, mailward: CommandLine) -> None:
    die(system, [event(1), b"\x00 not json", event(2)])
    log_failure(system, "resend:msg_1", "a hash")
    park(system, b"?", [ParkedReason(-1, "odd")])

    mailward.out("dlq", "discard", "--id", "resend:msg_1", "--id", "sha256", "--why", "a test of ours")

    assert (dead(system), parked(system), ids(system)) == (["resend:msg_2"], ["parked:1"], [])
    failed, *kept = closed(system)
    assert failed == ("resend:msg_1", 3, None, "discarded", "a test of ours")
    assert [row[1:] for row in kept] == [
        (0, wire.encode(event(1)), "discarded", "a test of ours"),
        (0, b"\x00 not json", "discarded", "a test of ours"),
    ]


def test_bytes_are_kept_before_the_letter_is_acked(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)])
    command = ("-c", DIES_BEFORE_ACK, "dlq", "discard", "--all", "--yes", "--why", "x")

    assert system.start(sys.executable, *command, name="killed").wait(30) == 9

    assert closed(system) == [("resend:msg_1", 0, wire.encode(event(1)), "discarded", "x")]
    wait_until(lambda: dead(system) == ["resend:msg_1"], "the letter back")


def test_dismissing_settles_parked_letters_only(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)])
    park(system, b"?", [ParkedReason(-1, "odd")])

    mailward.out("dlq", "dismiss", "--reason", "odd", "--why", "spam", "--yes")

    assert (dead(system), parked(system)) == (["resend:msg_1"], [])
    assert [row[3:] for row in closed(system)] == [("dismissed", "spam")]


@pytest.mark.parametrize("command", ["discard", "dismiss"])
def test_nothing_is_thrown_away_without_a_reason(system: System, mailward: CommandLine, command: str) -> None:
    die(system, [event(1)])
    park(system, b"?", [ParkedReason(-1, "odd")])

    assert mailward("dlq", command, "--all", "--yes").exit_code == 2
    assert (dead(system), parked(system)) == (["resend:msg_1"], ["parked:1"])
