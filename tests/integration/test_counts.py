"""Counters in SQL on both engines: they add up, by minute, whoever adds."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, func, select

from core import counts, database
from core.counts import Seen
from core.tables import counts as table

NOW = datetime(2026, 11, 29, 12, 0, 59, 999999, tzinfo=UTC)
REMOVED = ("outcome", "resend", "removed")
STALE = ("outcome", "resend", "stale")
ELSEWHERE = ("outcome", "cloudflare", "removed")
BUSY = ("busy", "resend", "")


def add(engine: Engine, increments: dict[tuple[str, str, str], int], now: datetime = NOW) -> None:
    with engine.begin() as connection:
        counts.add(connection, increments, now)


def totals(engine: Engine, since: datetime | None = None) -> dict[tuple[str, str, str], int]:
    with database.reading(engine) as connection:
        return counts.totals(connection, since)


def test_counts_add_up_by_series_provider_and_label(engine: Engine) -> None:
    add(engine, {REMOVED: 2, STALE: 1, ELSEWHERE: 5, BUSY: 1})
    add(engine, {REMOVED: 3})

    assert totals(engine) == {REMOVED: 5, STALE: 1, ELSEWHERE: 5, BUSY: 1}


def test_there_is_one_row_for_each_minute_and_series(engine: Engine) -> None:
    for second in range(3):
        add(engine, {REMOVED: 1}, NOW + timedelta(seconds=second))

    with database.reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(table)).scalar() == 2


def test_nothing_to_add_adds_no_row(engine: Engine) -> None:
    add(engine, {})

    assert totals(engine) == {}


@pytest.mark.parametrize(
    ("since", "total"),
    [
        (NOW.replace(second=0, microsecond=0), 4),
        (NOW, 4),  # a minute counts as a whole
        (NOW + timedelta(microseconds=1), 3),
        (NOW + timedelta(minutes=5), 2),
        (NOW + timedelta(minutes=6), 0),
        (None, 5),
    ],
)
def test_totals_begin_with_the_minute_of_a_moment(engine: Engine, since: datetime | None, total: int) -> None:
    for now, n in (
        (NOW - timedelta(minutes=1), 1),
        (NOW, 1),
        (NOW + timedelta(minutes=1), 1),
        (NOW + timedelta(minutes=5), 2),
    ):
        add(engine, {REMOVED: n}, now)

    assert totals(engine, since) == ({REMOVED: total} if total else {})


def test_a_counter_is_seen_with_the_minute_of_its_last_increment(engine: Engine) -> None:
    add(engine, {REMOVED: 2, STALE: 1, BUSY: 1})
    add(engine, {REMOVED: 3}, NOW + timedelta(minutes=5))

    with database.reading(engine) as connection:
        seen = counts.seen(connection, ["outcome"], NOW)

    minute = NOW.replace(second=0, microsecond=0)
    assert seen == {REMOVED: Seen(minute + timedelta(minutes=5), 5), STALE: Seen(minute, 1)}


def test_what_was_counted_before_the_minute_of_a_moment_is_not_seen(engine: Engine) -> None:
    add(engine, {REMOVED: 1})

    with database.reading(engine) as connection:
        assert counts.seen(connection, ["outcome"], NOW + timedelta(microseconds=1)) == {}


def test_a_transaction_that_is_rolled_back_counts_nothing(engine: Engine) -> None:
    with engine.connect() as connection:
        counts.add(connection, {REMOVED: 1}, NOW)
        connection.rollback()

    assert totals(engine) == {}


def test_counts_beyond_32_bits_add_up(engine: Engine) -> None:
    add(engine, {REMOVED: 2**40})
    add(engine, {REMOVED: 2**40})

    assert totals(engine) == {REMOVED: 2**41}


def test_no_count_is_lost_between_writers_that_name_their_series_in_different_orders(engine: Engine) -> None:
    def count(series: list[tuple[str, str, str]]) -> None:
        for _ in range(25):
            add(engine, dict.fromkeys(series, 1))

    series = [REMOVED, STALE, ELSEWHERE, BUSY]
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(count, series), threads.submit(count, series[::-1])]:
            done.result()

    assert totals(engine) == dict.fromkeys(series, 50)
