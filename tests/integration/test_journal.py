"""The journal on both engines: intents, repeats, what a crash leaves behind, restores, and two writers at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from core import database, journal
from core.decide import Outcome
from core.events import Event, Kind
from core.journal import Entry, Intents
from core.tables import from_us, to_us
from core.tables import journal as table
from tests.system import START, event

REMOVED, ABSENT, STALE = Outcome.REMOVED, Outcome.ABSENT, Outcome.STALE
NOW = datetime(2026, 11, 29, 12, 0, 0, 654321, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def entry(number: int = 1, outcome: Outcome = REMOVED, record: bytes | None = b"{}", key: str = "") -> Entry:
    return Entry(event(number), key or f"recipient:reader{number}@example.com", outcome, record)


def judged(outcome: Outcome, record: bytes | None = None) -> Entry:
    return entry(1, outcome, record)


def intend(engine: Engine, *entries: Entry, now: datetime = NOW) -> list[Entry]:
    with engine.begin() as connection:
        return list(journal.intend(connection, entries, now).entries)


def mark_applied(engine: Engine, *entries: Entry, now: datetime = NOW) -> None:
    with engine.begin() as connection:
        journal.mark_applied(connection, Intents(entries), now)


def restored(engine: Engine, *events: Event) -> dict[str, datetime]:
    with database.reading(engine) as connection:
        return journal.restores(connection, events)


def mark_restored(engine: Engine, number: int, moment: datetime) -> None:
    with engine.begin() as connection:
        connection.execute(
            update(table).where(table.c.event_id == event(number).event_id).values(restored_at=to_us(moment))
        )


def rows(engine: Engine) -> list[Any]:
    with database.reading(engine) as connection:
        return list(connection.execute(select(table).order_by(table.c.event_id, table.c.redis_key)))


def test_an_intent_holds_the_event_the_judgement_and_the_bytes_and_is_not_applied(engine: Engine) -> None:
    bounce = replace(
        event(1, Kind.HARD_BOUNCE, "jané@example.com"),
        rule="bounce.permanent",
        detail="550 5.1.1",
        received_at=START + timedelta(microseconds=1),
    )
    one = Entry(bounce, "recipient:jané@example.com", REMOVED, b"\x00\xff{}")

    assert intend(engine, one) == [one]

    (row,) = rows(engine)
    assert (
        row._mapping.items()
        >= {
            "event_id": "resend:msg_1",
            "redis_key": "recipient:jané@example.com",
            "address": "jané@example.com",
            "provider": "resend",
            "kind": "hard_bounce",
            "rule": "bounce.permanent",
            "detail": "550 5.1.1",
            "outcome": "removed",
            "record": b"\x00\xff{}",
            "applied_at": None,
            "restored_at": None,
        }.items()
    )
    moments = from_us(row.occurred_at), from_us(row.received_at), from_us(row.created_at)
    assert moments == (START, START + timedelta(microseconds=1), NOW)


@pytest.mark.parametrize("outcome", [ABSENT, STALE])
def test_what_removes_nothing_is_journalled_without_bytes(engine: Engine, outcome: Outcome) -> None:
    intend(engine, judged(outcome))

    assert [(row.outcome, row.record) for row in rows(engine)] == [(outcome.value, None)]


def test_an_empty_record_is_a_record(engine: Engine) -> None:
    intend(engine, judged(REMOVED, b""))

    assert [(row.outcome, row.record) for row in rows(engine)] == [("removed", b"")]


def test_marking_touches_the_given_rows_alone(engine: Engine) -> None:
    other_key = entry(1, key="recipient:Reader1@example.com")
    intend(engine, entry(1), other_key, entry(2))

    mark_applied(engine, entry(1), now=LATER)

    assert [row.redis_key for row in rows(engine) if row.applied_at == to_us(LATER)] == [entry(1).key]
    assert sum(row.applied_at is None for row in rows(engine)) == 2


def test_nothing_to_write_writes_nothing(engine: Engine) -> None:
    assert intend(engine) == []
    mark_applied(engine)

    assert rows(engine) == []


@pytest.mark.parametrize("new", [judged(REMOVED, b"new"), judged(ABSENT), judged(STALE)], ids=lambda one: one.outcome)
@pytest.mark.parametrize("old", [judged(REMOVED, b"old"), judged(ABSENT), judged(STALE)], ids=lambda one: one.outcome)
def test_a_repeat_of_an_applied_event_has_nothing_left_to_apply(engine: Engine, old: Entry, new: Entry) -> None:
    intend(engine, old)
    mark_applied(engine, old)

    assert intend(engine, new, now=LATER) == []

    (row,) = rows(engine)
    assert (row.outcome, row.record) == (old.outcome.value, old.record)
    assert (row.created_at, row.applied_at) == (to_us(NOW), to_us(NOW))


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        # The key is gone: it was us who deleted it, so what was intended has been done.
        (judged(REMOVED, b"old"), judged(ABSENT), judged(REMOVED, b"old")),
        # Nothing changed between crash and redelivery.
        (judged(REMOVED, b"old"), judged(REMOVED, b"old"), judged(REMOVED, b"old")),
        (judged(ABSENT), judged(ABSENT), judged(ABSENT)),
        (judged(STALE), judged(STALE), judged(STALE)),
        # The record changed meanwhile: the new judgement counts.
        (judged(REMOVED, b"old"), judged(REMOVED, b"new"), judged(REMOVED, b"new")),
        (judged(REMOVED, b"old"), judged(STALE), judged(STALE)),
        (judged(ABSENT), judged(REMOVED, b"new"), judged(REMOVED, b"new")),
        (judged(ABSENT), judged(STALE), judged(STALE)),
        (judged(STALE), judged(REMOVED, b"new"), judged(REMOVED, b"new")),
        (judged(STALE), judged(ABSENT), judged(ABSENT)),
    ],
    ids=lambda one: f"{one.outcome}{'' if one.record is None else ' ' + one.record.decode()}",
)
def test_an_intent_that_a_crash_left_takes_the_new_judgement_or_stays_the_removal_it_was(
    engine: Engine, old: Entry, new: Entry, kept: Entry
) -> None:
    intend(engine, old)

    assert intend(engine, new, now=LATER) == [kept]

    assert [(row.outcome, row.record, row.applied_at) for row in rows(engine)] == [
        (kept.outcome.value, kept.record, None)
    ]


def test_new_repeated_and_interrupted_events_of_one_batch_are_told_apart(engine: Engine) -> None:
    intend(engine, entry(1), entry(2))
    mark_applied(engine, entry(1))

    pending = intend(engine, entry(1), entry(2, ABSENT, None), entry(3, STALE, None), now=LATER)

    assert pending == [entry(2), entry(3, STALE, None)]
    assert [row.event_id for row in rows(engine)] == ["resend:msg_1", "resend:msg_2", "resend:msg_3"]


def test_the_keys_of_one_event_are_judged_each_for_itself(engine: Engine) -> None:
    verbatim = entry(1, key="recipient:Reader1@example.com")
    intend(engine, entry(1))
    mark_applied(engine, entry(1))

    assert intend(engine, entry(1), verbatim) == [verbatim]


def test_a_whole_batch_of_repeats_is_found(engine: Engine) -> None:
    batch = [entry(number) for number in range(2000)]
    intend(engine, *batch)
    mark_applied(engine, *batch[:1500])

    assert intend(engine, *batch) == batch[1500:]


def test_without_any_restore_there_is_none(engine: Engine) -> None:
    intend(engine, entry(1))

    assert restored(engine, event(1)) == {}
    assert restored(engine) == {}


@pytest.mark.parametrize(
    ("offset", "found"), [(timedelta(0), True), (timedelta(microseconds=1), True), (timedelta(microseconds=-1), False)]
)
def test_a_restore_is_found_for_events_that_are_not_newer(engine: Engine, offset: timedelta, found: bool) -> None:
    intend(engine, entry(1))
    mark_restored(engine, 1, START + offset)

    assert restored(engine, event(1)) == ({"reader1@example.com": START + offset} if found else {})


def test_the_latest_restore_of_an_address_counts_and_those_of_others_do_not(engine: Engine) -> None:
    same = [Entry(event(number, recipient="reader1@example.com"), "key", REMOVED, b"{}") for number in (1, 2, 3)]
    intend(engine, *same, entry(4), entry(5))
    for number, moment in ((1, START), (2, LATER), (3, NOW), (4, LATER + timedelta(days=1))):
        mark_restored(engine, number, moment)

    asked = [event(9, recipient="reader1@example.com"), event(5), event(6)]
    assert restored(engine, *asked) == {"reader1@example.com": LATER}


def test_an_event_newer_than_its_own_restore_is_told_of_it_or_not_but_never_of_another(engine: Engine) -> None:
    intend(engine, entry(1), entry(2))
    mark_restored(engine, 1, START - timedelta(days=1))
    mark_restored(engine, 2, START + timedelta(days=1))

    assert restored(engine, event(1)).get("reader1@example.com", START - timedelta(days=1)) == START - timedelta(days=1)


@pytest.mark.parametrize(
    "values",
    [
        {"outcome": "ignored"},
        {"outcome": "duplicate"},
        {"outcome": "REMOVED"},
        {"outcome": "removed", "record": None},
        {"outcome": "absent", "record": b"{}"},
        {"outcome": "stale", "record": b""},
        {"event_id": None},
        {"redis_key": None},
        {"address": None},
        {"occurred_at": None},
        {"created_at": None},
    ],
    ids=str,
)
def test_a_row_that_contradicts_itself_is_refused(engine: Engine, values: dict[str, object]) -> None:
    row = row_of(entry(1)) | values

    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(insert(table), row)

    assert rows(engine) == []


def test_an_event_has_one_row_for_each_key(engine: Engine) -> None:
    intend(engine, entry(1))

    with pytest.raises(IntegrityError), engine.begin() as connection:
        connection.execute(insert(table), row_of(entry(1)))


def test_two_writers_of_the_same_events_neither_lose_one_nor_lock_each_other_out(engine: Engine) -> None:
    start = Barrier(2)

    def write(batch: list[Entry]) -> int:
        start.wait()
        pending = intend(engine, *batch)
        mark_applied(engine, *pending)
        return len(pending)

    with ThreadPoolExecutor(2) as threads:
        for turn in range(15):
            first = sorted((entry(number) for number in range(turn * 100, turn * 100 + 60)), key=lambda one: one.id)
            other = sorted(
                (entry(number) for number in range(turn * 100 + 30, turn * 100 + 90)), key=lambda one: one.id
            )
            written = list(threads.map(write, [first, other]))
            assert sum(written) >= 90  # the shared ones are applied by one of the two, or harmlessly by both

    assert sum(row.applied_at is not None for row in rows(engine)) == len(rows(engine)) == 15 * 90


def test_a_writer_waits_for_another_that_has_not_committed_and_then_finds_its_row(engine: Engine) -> None:
    with ThreadPoolExecutor(1) as thread:
        with engine.begin() as connection:
            journal.intend(connection, [entry(1)], NOW)
            waiting = thread.submit(intend, engine, entry(1, ABSENT, None))
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.3)
        pending = waiting.result(timeout=10)

    assert pending == [entry(1)]  # still the removal that the first one intended


def test_an_intent_that_was_restored_meanwhile_is_over_and_keeps_its_bytes(engine: Engine) -> None:
    intend(engine, entry(1), entry(2))
    mark_restored(engine, 1, NOW)

    assert intend(engine, entry(1, STALE, None), entry(2), now=LATER) == [entry(2)]

    assert [(row.outcome, row.record, row.applied_at) for row in rows(engine)] == [
        ("removed", b"{}", to_us(LATER)),
        ("removed", b"{}", None),
    ]


def row_of(one: Entry) -> dict[str, Any]:
    """The row that an entry is written as."""
    return dict(zip(journal._COLUMNS, journal._row(one, to_us(NOW)), strict=True))


def test_intents_written_together_are_marked_together_and_nothing_beside_them(engine: Engine) -> None:
    intend(engine, entry(1), entry(2))
    with engine.begin() as connection:
        batch = journal.intend(connection, [entry(3), entry(4), entry(5)], NOW)
    intend(engine, entry(6))
    with engine.begin() as connection:
        journal.mark_applied(connection, batch, LATER)

    assert applied_events(engine) == [event(number).event_id for number in (3, 4, 5)]


def test_what_is_taken_out_of_intents_stays_unmarked(engine: Engine) -> None:
    with engine.begin() as connection:
        batch = journal.intend(connection, [entry(1), entry(2), entry(3)], NOW).without({entry(2).id})
        journal.mark_applied(connection, batch, LATER)

    assert applied_events(engine) == [event(number).event_id for number in (1, 3)]


def applied_events(engine: Engine) -> list[str]:
    return [str(row.event_id) for row in rows(engine) if row.applied_at is not None]
