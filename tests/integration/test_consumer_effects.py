"""What the events consumer does to recipient records, on real RabbitMQ, Redis and SQL."""

import json
from datetime import timedelta

import pytest

from core.events import Kind
from tests.system import START, System, event, wait_until


def consume(system: System) -> None:
    """Run the consumer until the work queue has been handled."""
    process = system.start()
    wait_until(lambda: '"applied"' in system.log() and system.depth(system.topology.events.name) == 0, "queue handled")
    assert system.stop(process) == 0


def test_a_complaint_and_a_hard_bounce_remove_the_record_and_nothing_else_does(system: System) -> None:
    kinds = list(Kind)
    system.put([f"reader{number}@example.com" for number in range(len(kinds) + 1)])
    system.publish(event(number, kind) for number, kind in enumerate(kinds))

    consume(system)

    left = {kind for number, kind in enumerate(kinds) if system.record(f"reader{number}@example.com") is not None}
    assert left == set(Kind) - {Kind.HARD_BOUNCE, Kind.COMPLAINT}
    assert system.record(f"reader{len(kinds)}@example.com") == b"{}"
    assert system.outcomes() == {"removed": 2, "ignored": len(kinds) - 2}


def test_the_journal_keeps_the_bytes_the_event_and_the_rule(system: System) -> None:
    system.put(["reader1@example.com"], b'{"name": "Reader"}')
    system.publish([event(1)])

    consume(system)

    (row,) = system.rows("SELECT event_id, address, kind, rule, outcome, record, applied_at FROM journal")
    assert tuple(row[:6]) == (
        "resend:msg_1",
        "reader1@example.com",
        "complaint",
        "test.rule",
        "removed",
        b'{"name": "Reader"}',
    )
    assert row.applied_at is not None


def test_an_absent_record_is_success_and_journalled(system: System) -> None:
    system.publish([event(1)])

    consume(system)

    assert [row.outcome for row in system.rows("SELECT outcome FROM journal")] == ["absent"]
    assert system.outcomes() == {"absent": 1}


@pytest.mark.parametrize(
    ("since", "outcome"),
    [
        ((START + timedelta(seconds=1)).isoformat(), "stale"),
        (START.isoformat(), "removed"),
        ((START - timedelta(days=1)).isoformat(), "removed"),
        ("yesterday", "removed"),
        ("2999-01-01T00:00:00Z", "removed"),
    ],
)
def test_an_event_older_than_the_consent_never_deletes(system: System, since: str, outcome: str) -> None:
    record = json.dumps({"eligible_since": since}).encode()
    system.put(["reader1@example.com"], record)
    system.publish([event(1)])

    consume(system)

    assert system.outcomes() == {outcome: 1}
    assert system.record("reader1@example.com") == (record if outcome == "stale" else None)


def test_both_the_verbatim_and_the_normal_key_are_removed_each_with_its_own_row(system: System) -> None:
    system.put(["Reader1@Example.com", "reader1@example.com"])
    system.publish([event(1, verbatim="Reader1@Example.com")])

    consume(system)

    assert system.record("Reader1@Example.com") is None
    assert system.record("reader1@example.com") is None
    assert system.rows("SELECT count(*) FROM journal WHERE outcome = 'removed'")[0][0] == 2
    assert system.outcomes() == {"removed": 1}


def test_a_repeat_of_an_applied_event_is_a_duplicate_and_leaves_a_new_record_alone(system: System) -> None:
    system.put(["reader1@example.com"])
    system.publish([event(1)])
    consume(system)
    system.put(["reader1@example.com"], b"signed up again")
    system.publish([event(1)] * 3)

    process = system.start()
    wait_until(lambda: system.outcomes().get("duplicate") == 3, "three duplicates")

    assert system.record("reader1@example.com") == b"signed up again"
    assert system.stop(process) == 0


def test_two_events_of_one_address_in_one_batch_are_judged_one_after_the_other(system: System) -> None:
    system.put(["reader1@example.com"])
    system.publish([event(1), event(2, recipient="reader1@example.com"), event(3)])

    consume(system)

    assert system.outcomes() == {"removed": 1, "absent": 2}
