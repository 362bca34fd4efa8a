"""Attempts, dead letters and crashes of the events consumer: what fails costs itself and nobody else."""

import signal
import sys

import pytest

from core.topology import CRASH_LIMIT
from tests.faulty_consumer import NEW_RECORD, POISON
from tests.system import System, event, wait_until


def faulty(system: System, fault: str) -> int:
    """Start the consumer with a fault built in; returns its exit status."""
    return system.start(sys.executable, "-m", "tests.faulty_consumer", fault, name="faulty").wait(60)


def dead_letter_count(system: System) -> int:
    return system.depth(system.topology.events.dead_letters)


def test_three_attempts_in_all_then_a_dead_letter_with_its_error_and_neighbours_unharmed(system: System) -> None:
    neighbours = [f"reader{number}@example.com" for number in range(2, 40)]
    system.put(neighbours)
    system.redis.hset(system.key("reader1@example.com"), "a", "hash, not a string")
    system.publish(event(number) for number in range(1, 40))

    process = system.start()
    wait_until(lambda: dead_letter_count(system) == 1, "a dead letter")

    assert system.stop(process) == 0
    ((properties, _),) = system.letters()
    assert (properties.message_id, properties.headers["attempt"]) == ("resend:msg_1", 3)
    assert system.log().count('"attempt_failed"') == 2
    assert system.log().count('"dead_letter"') == 1
    (row,) = system.rows("SELECT message_id, replay, attempt, error_type, error, recipient, stack FROM dead_letter_log")
    assert tuple(row[:4]) == ("resend:msg_1", 0, 3, "WrongType")
    assert "hash" in row.error
    assert row.recipient == "reader1@example.com"
    assert "Traceback" in row.stack
    assert [system.record(address) for address in neighbours] == [None] * 38
    assert system.outcomes() == {"removed": 38}


def test_no_address_is_logged_when_a_message_fails(system: System) -> None:
    system.redis.hset(system.key("reader1@example.com"), "a", "hash")
    system.publish([event(1)])

    process = system.start()
    wait_until(lambda: dead_letter_count(system) == 1, "a dead letter")

    assert system.stop(process) == 0
    assert "resend:msg_1" in system.log()
    assert "reader1@" not in system.log()


@pytest.mark.parametrize(
    "body", [b"not json", b"\xff\xfe\x00", b"[]", b'{"v": 1}', b'{"v": "1", "event_id": "x"}', b""]
)
def test_a_body_that_is_no_message_of_ours_is_dead_lettered_at_once_with_its_bytes(system: System, body: bytes) -> None:
    system.put(["reader2@example.com"])
    system.publish([body, event(2)])

    process = system.start()
    wait_until(lambda: dead_letter_count(system) == 1 and system.record("reader2@example.com") is None, "both handled")

    assert system.stop(process) == 0
    assert [letter for _, letter in system.letters()] == [body]
    assert system.rows("SELECT attempt FROM dead_letter_log")[0].attempt == 1


def test_a_message_of_a_newer_version_waits_and_uses_no_attempt(system: System) -> None:
    system.publish([b'{"v": 2, "event_id": "resend:new"}'])

    process = system.start()
    wait_until(lambda: system.log().count('"newer_version"') >= 2, "seen twice")

    assert system.stop(process) == 0
    assert dead_letter_count(system) == 0
    with system.channel() as channel:
        queues = (system.topology.events.name, system.topology.events.retry(2))
        found = [channel.basic_get(queue) for queue in queues]
    ((properties, body),) = [(properties, body) for method, properties, body in found if method is not None]
    assert body == b'{"v": 2, "event_id": "resend:new"}'
    assert properties.headers["attempt"] == 1


def test_a_kill_between_journal_and_delete_is_completed_by_the_redelivery(system: System) -> None:
    system.put(["reader1@example.com"], b"as it was")
    system.publish([event(1)])

    assert faulty(system, "dies_before_delete") == 9

    assert system.record("reader1@example.com") == b"as it was"
    assert [row.applied_at for row in system.rows("SELECT applied_at FROM journal")] == [None]

    process = system.start()
    wait_until(lambda: system.applied() == 1, "applied")

    assert system.record("reader1@example.com") is None
    assert system.stop(process) == 0


def test_a_kill_between_delete_and_mark_is_applied_as_removed_and_keeps_the_bytes(system: System) -> None:
    system.put(["reader1@example.com"], b"as it was")
    system.publish([event(1)])

    assert faulty(system, "dies_after_delete") == 9
    assert system.record("reader1@example.com") is None

    process = system.start()
    wait_until(lambda: system.applied() == 1, "applied")

    assert system.stop(process) == 0
    (row,) = system.rows("SELECT outcome, record FROM journal")
    assert tuple(row) == ("removed", b"as it was")


def test_a_record_rewritten_between_look_and_delete_survives_if_its_new_bytes_say_so(system: System) -> None:
    system.put(["reader1@example.com"], b"{}")
    system.publish([event(1)])

    process = system.start(sys.executable, "-m", "tests.faulty_consumer", "record_is_rewritten_once")
    wait_until(lambda: system.applied() == 1, "applied")

    assert system.stop(process) == 0
    assert system.record("reader1@example.com") == NEW_RECORD
    assert system.outcomes() == {"stale": 1}
    assert [tuple(row) for row in system.rows("SELECT outcome, record FROM journal")] == [("stale", None)]


def test_a_record_that_never_rests_is_a_failed_attempt_after_three_rounds(system: System) -> None:
    system.put(["reader1@example.com"], b"{}")
    system.publish([event(1)])

    process = system.start(sys.executable, "-m", "tests.faulty_consumer", "record_never_rests")
    wait_until(lambda: dead_letter_count(system) == 1, "a dead letter")

    assert system.stop(process) == 0
    assert "record_keeps_changing" in system.rows("SELECT error FROM dead_letter_log")[0].error


def test_a_message_that_kills_its_process_ends_as_a_dead_letter_and_takes_nobody_along(system: System) -> None:
    addresses = [f"reader{number}@example.com" for number in range(1, 30)]
    system.put([*addresses, "poison@example.com"])
    events = [event(number) for number in range(1, 30)]
    poison = event(0, recipient="poison@example.com", event_id=POISON)
    system.publish([*events[:10], poison, *events[10:]])

    for _ in range(CRASH_LIMIT + 1):
        assert faulty(system, "dies_of_poison") == 9
    process = system.start(sys.executable, "-m", "tests.faulty_consumer", "dies_of_poison")
    wait_until(lambda: dead_letter_count(system) == 1, "the poison is a dead letter")
    wait_until(lambda: system.applied() == len(addresses), "the neighbours are applied")
    wait_until(lambda: '"consuming"' in system.log(), "consuming")

    assert system.stop(process) == 0
    ((properties, _),) = system.letters()
    assert properties.message_id == POISON
    assert properties.headers["x-death"][0]["reason"] == "delivery_limit"
    assert [system.record(address) for address in addresses] == [None] * len(addresses)


def test_sigterm_under_load_ends_with_status_0_in_time_and_loses_nothing(system: System) -> None:
    count = 20_000
    system.put([f"reader{number}@example.com" for number in range(count)])
    system.publish(event(number) for number in range(count))

    process = system.start()
    wait_until(lambda: system.applied() > 100, "under way")
    status = system.stop(process, signal.SIGTERM, timeout_s=25)

    assert status == 0
    assert 0 < system.depth(system.topology.events.name) < count
    waiting = system.depth(system.topology.events.name)
    assert waiting + system.applied() == count
    assert system.rows("SELECT count(*) FROM journal WHERE applied_at IS NULL")[0][0] == 0


def test_a_second_sigterm_does_no_harm(system: System) -> None:
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)

    assert process.wait(10) == 0
