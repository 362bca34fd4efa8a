"""The web process watches the clock: told once, by one worker, and nothing else is taken for over."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from core import alert_states, database, heartbeats
from core.alert_delivery import Alert
from core.alerting import Alerting
from core.alerts import DEAD_LETTERS, Reading, Status
from core.clock import utc_now
from webhook.clock_watch import ClockWatch

START = utc_now()


class Stage:
    """A watch with a clock that can be turned, and everything that it told."""

    def __init__(self, engine: Engine) -> None:
        self.now = START
        self.told: list[Alert] = []
        self.alerting = Alerting(engine, self._deliver, "test")
        self.watch = ClockWatch(engine, self.alerting, lambda: self.now)

    def _deliver(self, alert: Alert) -> bool:
        self.told.append(alert)
        return True

    def look_after(self, seconds: float) -> list[tuple[Status, str]]:
        self.now = START + timedelta(seconds=seconds)
        self.watch.look()
        return [(alert.tell.status, alert.subject) for alert in self.told]


@pytest.fixture
def stage(engine: Engine) -> Stage:
    return Stage(engine)


def test_a_clock_that_gives_no_sign_of_life_is_told_once(stage: Stage) -> None:
    assert stage.look_after(119) == []
    assert stage.look_after(121) == [(Status.FIRING, "clock")]
    assert stage.look_after(180) == [(Status.FIRING, "clock")]


def test_a_clock_that_beats_is_no_alert(stage: Stage, engine: Engine) -> None:
    stage.now = START + timedelta(seconds=300)
    with engine.begin() as connection:
        heartbeats.beat(connection, "clock", "somewhere:1")

    assert stage.look_after(100) == []


def test_a_clock_that_is_back_is_told_by_its_own_monitor(stage: Stage) -> None:
    stage.look_after(121)

    stage.alerting.take([], stage.now)

    assert [(alert.tell.status, alert.subject) for alert in stage.told] == [
        (Status.FIRING, "clock"),
        (Status.CLEARED, "clock"),
    ]


def test_the_alerts_that_the_clock_left_behind_are_not_taken_for_over(stage: Stage, engine: Engine) -> None:
    stage.alerting.take([Reading(DEAD_LETTERS, "email-events-dlq", 101)], stage.now)

    stage.look_after(121)

    with database.reading(engine) as connection:
        assert ("dead_letters", "email-events-dlq") in alert_states.read(connection)


def test_of_two_workers_one_tells(stage: Stage, engine: Engine) -> None:
    with engine.begin() as connection:
        assert heartbeats.take_lease(connection, "clock-watch", "another worker", 40.0)

    assert stage.look_after(121) == []


def test_sql_that_is_away_is_no_error_of_the_watch() -> None:
    away = Stage(database.create("postgresql+psycopg://nobody@127.0.0.1:9/none", connections=1))

    assert away.look_after(121) == []
