"""What the monitor finds: values on both engines, and a whole pass on a real broker."""

import sys
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from consumer import readings
from consumer.monitor import Monitor
from core import alerts, counts, database, dead_letter_log, heartbeats, queue_looks
from core.alert_delivery import Alert
from core.alerting import Alerting
from core.alerts import Rule
from core.clock import utc_now
from core.dead_letter_log import Failure
from core.queue_looks import Look
from core.scan_lock import lock
from core.topology import Topology
from tests.letters import crash, die
from tests.sending import AMBIGUOUS, World, answering
from tests.system import System, event, wait_until

TOPOLOGY = Topology("test.")
LETTERS = TOPOLOGY.events.dead_letters
NOW = utc_now()


def value(found: Iterator[readings.Reading], rule: Rule, subject: str = "") -> float | None:
    (reading,) = [one for one in found if (one.rule, one.subject) == (rule, subject)]
    return reading.value


def count(world: World, *increments: tuple[str, str, str, int], at: datetime = NOW) -> None:
    with world.engine.begin() as connection:
        counts.add(connection, {(name, provider, label): n for name, provider, label, n in increments}, at)


def of_counters(world: World) -> Iterator[readings.Reading]:
    with database.reading(world.engine) as connection:
        return iter(list(readings.of_counters(connection, NOW)))


def of_queues(world: World, looks: dict[str, Look] | None) -> Iterator[readings.Reading]:
    with database.reading(world.engine) as connection:
        return iter(list(readings.of_queues(connection, looks, TOPOLOGY, NOW)))


def of_processes(world: World, up_for_s: float = 3600) -> Iterator[readings.Reading]:
    with database.reading(world.engine) as connection:
        now = utc_now()
        return iter(list(readings.of_processes(connection, now - timedelta(seconds=up_for_s), now)))


def fail(world: World, message_id: str, hours_ago: float) -> None:
    with world.engine.begin() as connection:
        at = NOW - timedelta(hours=hours_ago)
        dead_letter_log.record(connection, Failure(TOPOLOGY.events.name, message_id, 0, 3, at, "KeyError", "", ""))


@pytest.mark.parametrize(
    ("look", "depth"), [(Look(7, 0), 7), (Look(0, 0), 0), (Look(7, 0, scanned=True), None), (None, None)]
)
def test_the_depth_of_a_dead_letter_queue_waits_while_somebody_scans_it(
    world: World, look: Look | None, depth: float | None
) -> None:
    looks = {} if look is None else {LETTERS: look}

    assert value(of_queues(world, looks), alerts.DEAD_LETTERS, LETTERS) == depth


def test_nothing_is_known_of_queues_while_the_broker_is_away(world: World) -> None:
    found = list(of_queues(world, None))

    assert {(one.rule, one.subject) for one in found} == {
        (rule, work.dead_letters)
        for rule in (alerts.DEAD_LETTERS, alerts.OLD_DEAD_LETTER)
        for work in TOPOLOGY.work_queues
    }
    assert {one.value for one in found} == {None}


def test_the_oldest_open_dead_letter_counts_while_the_queue_holds_any(world: World) -> None:
    fail(world, "new", 1)
    fail(world, "old", 30)

    assert value(of_queues(world, {LETTERS: Look(2, 0)}), alerts.OLD_DEAD_LETTER, LETTERS) == pytest.approx(30)
    assert value(of_queues(world, {LETTERS: Look(0, 0)}), alerts.OLD_DEAD_LETTER, LETTERS) == 0


def test_duplicates_of_ten_minutes_add_up_over_causes(world: World) -> None:
    name = "email.duplicate_detected"
    count(world, (name, "resend", "late_accept", 4), (name, "resend", "second_message", 7), ("sends", "resend", "", 99))
    count(world, (name, "resend", "late_accept", 50), at=NOW - timedelta(minutes=12))

    assert value(of_counters(world), alerts.DUPLICATES) == 11


@pytest.mark.parametrize(
    ("counted", "expected"),
    [
        ([("refused", "resend", "signature", 5)], 5),
        ([("refused", "resend", "signature", 4)], 0),
        ([("refused", "resend", "signature", 3), ("refused", "resend", "no_signature", 3)], 6),
        ([("refused", "resend", "too_large", 50)], 0),
        ([("refused", "resend", "signature", 50), ("accepted", "resend", "delivered", 1)], 0),
        ([("refused", "resend", "signature", 50), ("counted", "resend", "other", 1)], 0),
        ([("refused", "resend", "signature", 50), ("accepted", "cloudflare", "delivered", 1)], 50),
    ],
)
def test_proofs_are_all_refused_only_if_none_was_accepted(
    world: World, counted: list[tuple[str, str, str, int]], expected: float
) -> None:
    count(world, *counted)

    assert value(of_counters(world), alerts.SIGNATURES_REFUSED, "resend") == expected


@pytest.mark.parametrize(
    ("removed", "absent", "share"), [(0, 0, 0), (9, 10, 0), (10, 10, 50), (5, 15, 75), (0, 19, 0), (0, 20, 100)]
)
def test_the_share_of_absent_removals_needs_some_to_tell(world: World, removed: int, absent: int, share: float) -> None:
    count(world, ("outcome", "resend", "removed", removed), ("outcome", "resend", "absent", absent))
    count(world, ("outcome", "resend", "ignored", 1000))

    assert value(of_counters(world), alerts.REMOVALS_ABSENT) == share


def test_a_consumer_that_beats_is_not_missing(world: World) -> None:
    with world.engine.begin() as connection:
        heartbeats.beat(connection, "events", "one:1")

    found = value(of_processes(world), alerts.CONSUMER_MISSING, "events")
    assert found is not None
    assert found < 5


def test_a_consumer_that_never_was_is_missing_since_we_listen(world: World) -> None:
    assert value(of_processes(world, up_for_s=300), alerts.CONSUMER_MISSING, "events") == pytest.approx(300, abs=5)


def test_who_has_just_begun_to_listen_does_not_know_who_is_missing(world: World) -> None:
    with world.engine.begin() as connection:
        heartbeats.beat(connection, "events", "one:1")
        connection.execute(text("UPDATE heartbeat SET seen_at = seen_at - 500000000"))

    assert value(of_processes(world, up_for_s=30), alerts.CONSUMER_MISSING, "events") is None
    assert value(of_processes(world, up_for_s=150), alerts.CONSUMER_MISSING, "events") == pytest.approx(500, abs=5)


def test_sends_is_expected_only_while_a_campaign_runs(world: World) -> None:
    assert [one.subject for one in of_processes(world)] == ["events"]

    world.campaign(1)

    assert [one.subject for one in of_processes(world)] == ["events", "sends"]


def test_unknown_deliveries_and_standing_campaigns_are_found(world: World) -> None:
    unknown, standing = world.campaign(3), world.campaign(1)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(unknown)
    world.later(timedelta(hours=23))
    world.move(unknown)
    with world.engine.begin() as connection:
        connection.execute(
            text("UPDATE campaign SET started_at = started_at - 660000000 WHERE id = :c"), {"c": standing}
        )

    with database.reading(world.engine) as connection:
        found = list(readings.of_campaigns(connection, utc_now()))

    assert value(iter(found), alerts.UNKNOWN_SENDS) == 3
    assert value(iter(found), alerts.NO_PROGRESS, standing) == pytest.approx(11, abs=0.2)
    assert len(found) == 2


@pytest.fixture
def told() -> list[Alert]:
    return []


@pytest.fixture
def monitor(system: System, told: list[Alert]) -> Monitor:
    def deliver(alert: Alert) -> bool:
        told.append(alert)
        return True

    alerting = Alerting(system.engine, deliver, "test")
    return Monitor(system.engine, system.environ["AMQP_URL"], system.topology, alerting, utc_now())


def test_a_pass_tells_of_dead_letters_above_the_threshold_and_not_while_they_are_scanned(
    system: System, monitor: Monitor, told: list[Alert], monkeypatch: pytest.MonkeyPatch
) -> None:
    from core import alerts as rules

    few = rules.Rule("dead_letters", 2, 0, 3600, "{value}", "", True, "")
    monkeypatch.setattr(rules, "DEAD_LETTERS", few)
    die(system, [event(number) for number in range(3)])
    queue = system.topology.events.dead_letters

    with queue_looks.connected(system.environ["AMQP_URL"], "test") as connection:
        lock(connection.channel(), queue)
        assert monitor.look(utc_now()) == 0
    assert monitor.look(utc_now()) == 1
    assert monitor.look(utc_now()) == 0

    assert [(one.subject, one.value) for one in told] == [(queue, 3)]
    assert len(system.letters()) == 3


def test_letters_of_a_crash_loop_get_the_row_that_nobody_could_write(system: System, monitor: Monitor) -> None:
    crash(system, event(1))
    die(system, [event(2)])

    monitor.look(utc_now())

    rows = system.rows("SELECT queue, message_id, error_type, closed_at FROM dead_letter_log")
    assert [tuple(row) for row in rows] == [(system.topology.events.name, event(1).event_id, "CrashLoop", None)]
    wait_until(lambda: system.depth(system.topology.events.dead_letters) == 2, "both letters returned")


def test_letters_are_taken_in_hand_only_when_there_are_more(system: System, monitor: Monitor) -> None:
    crash(system, event(1))
    for _ in range(3):
        monitor.look(utc_now())
        wait_until(lambda: system.depth(system.topology.events.dead_letters) == 1, "the letter returned")

    ((properties, _),) = system.letters()
    assert properties.headers.get("x-delivery-count", 0) <= 1


def test_a_broker_that_is_away_costs_its_own_values_only(system: System, told: list[Alert]) -> None:
    def deliver(alert: Alert) -> bool:
        told.append(alert)
        return True

    alerting = Alerting(system.engine, deliver, "test")
    long_ago = utc_now() - timedelta(hours=1)
    monitor = Monitor(system.engine, "amqp://guest:guest@127.0.0.1:1/%2F", system.topology, alerting, long_ago)

    assert monitor.look(utc_now()) == 1
    assert [one.rule for one in told] == [alerts.CONSUMER_MISSING]


def test_the_clock_process_moves_a_started_campaign_and_ends_when_asked(system: System) -> None:
    campaign = started(system)

    clock = system.start(sys.executable, "-m", "consumer", "clock", name="clock")

    wait_until(lambda: system.depth(system.topology.batches.name) == 1, "a message about the campaign")
    wait_until(lambda: ("clock",) in [tuple(row) for row in system.rows("SELECT process FROM heartbeat")], "a beat")
    assert system.stop(clock) == 0
    assert system.rows("SELECT process FROM heartbeat") == []
    assert campaign in system.rows("SELECT id FROM campaign WHERE state = 'running'")[0]


def test_of_two_clocks_the_second_takes_over_when_the_first_is_killed(system: System) -> None:
    first = system.start(sys.executable, "-m", "consumer", "clock", name="first")
    wait_until(lambda: bool(system.rows("SELECT 1 FROM heartbeat WHERE process = 'lease:clock'")), "a lease")
    system.start(sys.executable, "-m", "consumer", "clock", name="second")
    wait_until(lambda: len(system.rows("SELECT 1 FROM heartbeat WHERE process = 'clock'")) == 2, "two clocks")
    first.kill()

    started(system)

    wait_until(lambda: system.depth(system.topology.batches.name) == 1, "a message about the campaign")


def started(system: System) -> str:
    return World(system.engine, system.redis, system.environ["MAILWARD_ENV"]).campaign(1)
