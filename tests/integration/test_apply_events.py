"""A batch of events on real Redis and both SQL engines: keys with different fates, restores, crashes, rounds, races."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import redis
from sqlalchemy import Engine, select, update

from consumer.apply_events import ROUNDS, EventWork
from core import counts, database
from core.errors import Transient
from core.events import Event, Kind
from core.recipients import Deletion, RecipientStore, WrongType
from core.tables import journal, to_us
from tests.system import START, event

JANE, VERBATIM = "jane@example.com", "Jane@Example.com"
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FENCED = b'{"eligible_since": "2026-11-15T00:00:00Z"}'  # newer than START


@pytest.fixture
def store(redis_client: redis.Redis, redis_prefix: str) -> RecipientStore:
    return RecipientStore(redis_client, redis_prefix + "{address}")


@pytest.fixture
def work(store: RecipientStore, engine: Engine) -> EventWork:
    return EventWork(store, engine, lambda: NOW)


def about_jane(
    number: int = 1, occurred_at: datetime = START, verbatim: str = "", kind: Kind = Kind.COMPLAINT
) -> Event:
    return event(number, kind, JANE, verbatim, occurred_at)


def record(store: RecipientStore, address: str = JANE) -> bytes | None:
    return store.read([store.key(address)])[0]


def rows(engine: Engine) -> list[Any]:
    with database.reading(engine) as connection:
        return list(connection.execute(select(journal).order_by(journal.c.id)))


def fates(store: RecipientStore, engine: Engine) -> dict[str, tuple[str, bytes | None]]:
    """Address of each key → its journalled outcome and bytes; all rows must be applied."""
    assert [row.event_id for row in rows(engine) if row.applied_at is None] == []
    return {store.address(row.redis_key): (row.outcome, row.record) for row in rows(engine)}


def counted(engine: Engine) -> dict[str, int]:
    with database.reading(engine) as connection:
        return {label: n for (_, _, label), n in counts.totals(connection).items()}


def mark_restored(engine: Engine, moment: datetime) -> None:
    with engine.begin() as connection:
        connection.execute(update(journal).values(restored_at=to_us(moment)))


@pytest.mark.parametrize(
    ("normal", "verbatim", "outcome", "normal_fate", "verbatim_fate"),
    [
        (b"1", b"2", "removed", ("removed", b"1"), ("removed", b"2")),
        (b"1", None, "removed", ("removed", b"1"), ("absent", None)),
        (None, b"2", "removed", ("absent", None), ("removed", b"2")),
        (FENCED, b"2", "removed", ("stale", None), ("removed", b"2")),
        (b"1", FENCED, "removed", ("removed", b"1"), ("stale", None)),
        (FENCED, None, "stale", ("stale", None), ("absent", None)),
        (FENCED, FENCED, "stale", ("stale", None), ("stale", None)),
        (None, None, "absent", ("absent", None), ("absent", None)),
    ],
)
def test_the_normal_and_the_verbatim_key_are_judged_each_for_itself(
    work: EventWork, store: RecipientStore, engine: Engine,
    normal: bytes | None, verbatim: bytes | None, outcome: str,
    normal_fate: tuple[str, bytes | None], verbatim_fate: tuple[str, bytes | None],
) -> None:  # fmt: skip
    before = {JANE: normal, VERBATIM: verbatim}
    store.put_many((address, value) for address, value in before.items() if value is not None)

    assert work.apply([about_jane(verbatim=VERBATIM)]) == {outcome: 1}

    found = fates(store, engine)
    assert found == {JANE: normal_fate, VERBATIM: verbatim_fate}
    for address, value in before.items():
        assert record(store, address) == (None if found[address][0] == "removed" else value)
    assert counted(engine) == {outcome: 1}


def test_a_batch_of_every_kind_touches_the_addresses_of_removing_ones_alone(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    store.put_many((f"reader{number}@example.com", b"{}") for number in range(len(Kind)))

    outcomes = work.apply([event(number, kind) for number, kind in enumerate(Kind)])

    assert outcomes == {"removed": 2, "ignored": len(Kind) - 2} == counted(engine)
    gone = {kind for number, kind in enumerate(Kind) if record(store, f"reader{number}@example.com") is None}
    assert gone == {Kind.COMPLAINT, Kind.HARD_BOUNCE}


def test_an_empty_batch_and_one_that_removes_nothing_leave_the_journal_empty(work: EventWork, engine: Engine) -> None:
    assert work.apply([]) == {}
    assert work.apply([event(1, Kind.DELIVERED), event(2, Kind.SOFT_BOUNCE)]) == {"ignored": 2}

    assert rows(engine) == []


def test_repeats_within_a_batch_and_after_it_are_duplicates(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    store.put(JANE, b"{}")

    assert work.apply([about_jane(), about_jane(), about_jane()]) == {"removed": 1, "duplicate": 2}
    store.put(JANE, b"signed up again")
    assert work.apply([about_jane()]) == {"duplicate": 1}

    assert record(store) == b"signed up again"
    assert counted(engine) == {"removed": 1, "duplicate": 3}


def test_the_second_event_of_an_address_finds_what_the_first_one_left(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    store.put(JANE, b"{}")

    assert work.apply([about_jane(1), about_jane(2), about_jane(3)]) == {"removed": 1, "absent": 2}

    assert [(row.event_id, row.outcome) for row in rows(engine)] == [
        ("resend:msg_1", "removed"),
        ("resend:msg_2", "absent"),
        ("resend:msg_3", "absent"),
    ]


def test_a_record_that_cannot_be_judged_fails_the_batch_before_anything_is_deleted(
    work: EventWork, store: RecipientStore, engine: Engine, redis_client: redis.Redis
) -> None:
    store.put(JANE, b"{}")
    redis_client.hset(store.key("reader2@example.com"), "field", "value")

    with pytest.raises(WrongType):
        work.apply([about_jane(), event(2)])

    assert record(store) == b"{}"
    assert rows(engine) == []
    assert counted(engine) == {}


@pytest.mark.parametrize(
    ("occurred_at", "outcome"),
    [(NOW - SECOND, "stale"), (NOW, "stale"), (NOW + timedelta(microseconds=1), "removed"), (NOW + SECOND, "removed")],
)
def test_an_event_not_newer_than_a_restore_is_stale_and_a_newer_one_removes(
    work: EventWork, store: RecipientStore, engine: Engine, occurred_at: datetime, outcome: str
) -> None:
    store.put(JANE, b"{}")
    work.apply([about_jane(1)])
    mark_restored(engine, NOW)
    store.put(JANE, b"{}")

    assert work.apply([about_jane(2, occurred_at)]) == {outcome: 1}

    assert record(store) == (b"{}" if outcome == "stale" else None)


def test_a_restored_address_protects_its_other_spelling_and_no_other_address(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    work.apply([about_jane(1)])
    mark_restored(engine, NOW)
    store.put_many([(JANE, b"1"), (VERBATIM, b"2"), ("reader3@example.com", b"3")])

    assert work.apply([about_jane(2, verbatim=VERBATIM), event(3)]) == {"stale": 1, "removed": 1}

    assert (record(store), record(store, VERBATIM)) == (b"1", b"2")


def crash_before_delete(work: EventWork, store: RecipientStore, *events: Event) -> None:
    work._intend([(one, key) for one in events for key in work._keys(one)])


def crash_after_delete(work: EventWork, store: RecipientStore, *events: Event) -> None:
    work._delete(work._intend([(one, key) for one in events for key in work._keys(one)]))


Crash = Callable[..., None]
CRASHES = pytest.mark.parametrize("crash", [crash_before_delete, crash_after_delete])


@CRASHES
def test_a_crash_on_the_way_is_completed_by_the_redelivery(
    work: EventWork, store: RecipientStore, engine: Engine, crash: Crash
) -> None:
    store.put_many([(JANE, b"1"), (VERBATIM, FENCED), ("reader2@example.com", b"2")])
    batch = [about_jane(1, verbatim=VERBATIM), event(2), event(3)]
    crash(work, store, *batch)
    assert counted(engine) == {}

    assert work.apply(batch) == {"removed": 2, "absent": 1} == counted(engine)

    assert fates(store, engine) == {
        JANE: ("removed", b"1"),
        VERBATIM: ("stale", None),
        "reader2@example.com": ("removed", b"2"),
        "reader3@example.com": ("absent", None),
    }
    assert work.apply(batch) == {"duplicate": 3}


@CRASHES
def test_a_record_rewritten_after_the_crash_is_judged_anew(
    work: EventWork, store: RecipientStore, engine: Engine, crash: Crash
) -> None:
    store.put_many([(JANE, b"old"), ("reader2@example.com", b"old")])
    batch = [about_jane(1), event(2)]
    crash(work, store, *batch)
    store.put_many([(JANE, FENCED), ("reader2@example.com", b"new")])

    assert work.apply(batch) == {"stale": 1, "removed": 1}

    assert record(store) == FENCED
    assert fates(store, engine) == {JANE: ("stale", None), "reader2@example.com": ("removed", b"new")}


def test_a_restore_after_the_crash_keeps_the_bytes_that_it_has_to_put_back(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    store.put(JANE, b"as it was")
    crash_after_delete(work, store, about_jane())
    mark_restored(engine, NOW)  # and killed before it has put the record back

    work.apply([about_jane()])

    assert fates(store, engine) == {JANE: ("removed", b"as it was")}


def test_a_restore_after_the_crash_keeps_a_record_that_is_still_there(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    store.put(JANE, b"as it was")
    crash_before_delete(work, store, about_jane())
    mark_restored(engine, NOW)

    work.apply([about_jane()])

    assert record(store) == b"as it was"
    assert work.apply([about_jane()]) == {"duplicate": 1}


class Rewritten(RecipientStore):
    """A store in which somebody writes another record between look and delete, as often as there are `records`."""

    records: Iterator[bytes]

    def delete_if_unchanged(self, pairs: Sequence[tuple[str, bytes]]) -> list[Deletion]:
        written = next(self.records, None)
        if written is not None:
            self.put(JANE, written)
        return super().delete_if_unchanged(pairs)


def applied_while_rewritten(
    redis_client: redis.Redis, redis_prefix: str, engine: Engine, records: Sequence[bytes], *others: Event
) -> dict[str, int]:
    store = Rewritten(redis_client, redis_prefix + "{address}")
    store.records = iter(records)
    return EventWork(store, engine, lambda: NOW).apply([about_jane(), *others])


@pytest.mark.parametrize("times", range(ROUNDS))
def test_a_record_that_changes_less_than_three_times_is_removed_as_it_was_last(
    store: RecipientStore, engine: Engine, redis_client: redis.Redis, redis_prefix: str, times: int
) -> None:
    store.put_many([(JANE, b"0"), ("reader2@example.com", b"2")])
    changes = [b"%d" % number for number in range(1, times + 1)]

    outcomes = applied_while_rewritten(redis_client, redis_prefix, engine, changes, event(2))

    assert outcomes == {"removed": 2} == counted(engine)
    assert fates(store, engine) == {JANE: ("removed", b"%d" % times), "reader2@example.com": ("removed", b"2")}
    assert record(store) is None


def test_a_record_that_changes_three_times_fails_the_attempt_and_survives(
    store: RecipientStore, engine: Engine, redis_client: redis.Redis, redis_prefix: str
) -> None:
    store.put(JANE, b"0")

    with pytest.raises(Transient, match="record_keeps_changing"):
        applied_while_rewritten(redis_client, redis_prefix, engine, [b"1", b"2", b"3"])

    assert record(store) == b"3"
    assert [row.applied_at for row in rows(engine)] == [None]
    assert counted(engine) == {}


def test_a_record_that_changes_to_a_newer_consent_survives(
    store: RecipientStore, engine: Engine, redis_client: redis.Redis, redis_prefix: str
) -> None:
    store.put(JANE, b"0")

    assert applied_while_rewritten(redis_client, redis_prefix, engine, [b"1", FENCED]) == {"stale": 1}

    assert record(store) == FENCED
    assert fates(store, engine) == {JANE: ("stale", None)}


def test_two_consumers_that_hold_the_same_events_remove_every_record_and_lose_no_bytes(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    for turn in range(5):
        numbers = range(turn * 100, turn * 100 + 60)
        store.put_many((f"reader{number}@example.com", b"%d" % number) for number in numbers)
        batch = [event(number) for number in numbers]

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(work.apply, [batch, batch[::-1]]))

    assert [row.event_id for row in rows(engine) if row.applied_at is None] == []
    assert {(row.event_id, row.outcome, row.record) for row in rows(engine)} == {
        (f"resend:msg_{number}", "removed", b"%d" % number)
        for turn in range(5)
        for number in range(turn * 100, turn * 100 + 60)
    }
    assert list(store.scan()) == []
