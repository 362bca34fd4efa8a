"""Signs of life and the lease of the clock, on both engines."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from core import database, heartbeats
from core.clock import utc_now
from core.heartbeats import Heart


def rows(engine: Engine) -> list[tuple[str, str]]:
    with database.reading(engine) as connection:
        return [(one.process, one.instance) for one in heartbeats.beats(connection)]


def back(engine: Engine, seconds: float) -> None:
    """Let every row be `seconds` older."""
    with engine.begin() as connection:
        connection.execute(text("UPDATE heartbeat SET seen_at = seen_at - :us"), {"us": int(seconds * 1_000_000)})


def lease(engine: Engine, owner: str) -> bool:
    with engine.begin() as connection:
        return heartbeats.take_lease(connection, "clock", owner, 7)


def test_a_beat_is_a_row_of_now(engine: Engine) -> None:
    Heart(engine, "events", "one:1").beat()

    with database.reading(engine) as connection:
        (beat,) = heartbeats.beats(connection)
    assert (beat.process, beat.instance) == ("events", "one:1")
    assert abs(utc_now() - beat.seen_at) < timedelta(seconds=5)


def test_beats_are_written_no_oftener_than_needed(engine: Engine) -> None:
    heart = Heart(engine, "events", "one:1")
    heart.beat()
    back(engine, 5)

    heart.beat()

    with database.reading(engine) as connection:
        (beat,) = heartbeats.beats(connection)
    assert utc_now() - beat.seen_at > timedelta(seconds=4)


def test_a_process_that_ends_takes_its_row_away_and_no_other(engine: Engine) -> None:
    first, second = Heart(engine, "events", "one:1"), Heart(engine, "events", "one:2")
    first.beat()
    second.beat()

    first.stop()

    assert rows(engine) == [("events", "one:2")]


def test_a_heart_never_disturbs_its_process(tmp_path: object) -> None:
    heart = Heart(database.create("postgresql+psycopg://nobody@127.0.0.1:1/none"), "events", "one:1")

    heart.beat()
    heart.stop()


def test_the_newest_instance_speaks_for_its_process(engine: Engine) -> None:
    Heart(engine, "events", "old").beat()
    back(engine, 500)
    Heart(engine, "events", "new").beat()
    Heart(engine, "sends", "old").beat()

    with database.reading(engine) as connection:
        newest = heartbeats.newest(heartbeats.beats(connection))

    assert set(newest) == {"events", "sends"}
    assert utc_now() - newest["events"] < timedelta(seconds=5)


def test_rows_of_yesterday_are_forgotten(engine: Engine) -> None:
    Heart(engine, "events", "killed").beat()
    back(engine, 86_401)
    Heart(engine, "events", "new").beat()

    with engine.begin() as connection:
        heartbeats.forget_old(connection)

    assert rows(engine) == [("events", "new")]


def test_one_clock_acts_until_it_falls_silent(engine: Engine) -> None:
    assert lease(engine, "first")
    assert not lease(engine, "second")
    back(engine, 6)
    assert lease(engine, "first")
    back(engine, 6)
    assert not lease(engine, "second")
    back(engine, 2)
    assert lease(engine, "second")
    assert not lease(engine, "first")


def test_a_clock_that_ends_lets_the_next_act_at_once(engine: Engine) -> None:
    assert lease(engine, "first")
    with engine.begin() as connection:
        heartbeats.release_lease(connection, "clock", "first")

    assert lease(engine, "second")


@pytest.mark.parametrize("owner", ["first", "second"])
def test_the_lease_is_no_sign_of_life(engine: Engine, owner: str) -> None:
    lease(engine, owner)

    assert rows(engine) == []
