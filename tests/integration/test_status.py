"""`mailward status`: everything on one screen, and as a document."""

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from core import alert_states, counts, heartbeats
from core.alert_states import Remembered
from core.alerts import State
from core.clock import utc_now
from core.ledger import lifecycle
from tests.command_line import CommandLine
from tests.letters import die, ready_command_line
from tests.sending import AMBIGUOUS, World, answering
from tests.system import System, event


@pytest.fixture
def mailward(system: System) -> CommandLine:
    return ready_command_line(system)


@pytest.fixture
def world(system: System) -> World:
    return World(system.engine, system.redis, system.environ["MAILWARD_ENV"])


def document(mailward: CommandLine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(mailward.out("status", "--json"))
    return found


def test_an_idle_system_says_that_there_is_nothing(mailward: CommandLine) -> None:
    shown = mailward.out("status")

    for said in ("none fires", "CAMPAIGNS\n  none", "none has been seen", "nothing was counted"):
        assert said in shown


def test_every_queue_is_shown_with_what_waits_and_who_consumes(
    mailward: CommandLine, system: System, world: World
) -> None:
    die(system, [event(1), event(2)])
    system.publish([event(3)])

    queues = document(mailward)["queues"]

    assert len(queues) == 9
    assert queues[system.topology.events.name] == {"waiting": 1, "consumers": 0, "scanned": False}
    assert queues[system.topology.events.dead_letters]["waiting"] == 2
    assert f"{system.topology.events.dead_letters:<40}{2:>9}" in mailward.out("status")


def test_a_running_campaign_is_shown_with_counts_rate_and_time_left(mailward: CommandLine, world: World) -> None:
    campaign = world.campaign(360)
    first, second = world.call_ids(campaign)[:2]
    world.work.apply([world.message(campaign, first)])
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.work.apply([world.message(campaign, second)])

    (one,) = document(mailward)["campaigns"]

    assert one["id"] == campaign
    assert one["state"] == "running"
    assert one["stats"] == {
        "total": 360, "sent": 100, "reserved": 100, "failed": 0, "skipped": 0, "remaining": 160, "unknown": 0
    }  # fmt: skip
    assert one["mails_per_second"] == pytest.approx(100 / 60, abs=0.01)
    assert one["eta_s"] == pytest.approx(96, abs=1)
    shown = mailward.out("status")
    assert "total 360, sent 100, reserved 100, remaining 160" in shown
    assert "1.7 mails/s over the last minute, 0 calls in flight, done in 0:01:36" in shown


def test_calls_in_flight_are_shown_while_they_are(mailward: CommandLine, world: World) -> None:
    campaign = world.campaign(1)
    during: list[int] = []
    world.provider.before = lambda: during.append(document(mailward)["campaigns"][0]["in_flight"])

    world.move(campaign)

    assert during == [1]


def test_a_paused_campaign_says_why_and_gives_no_time_left(mailward: CommandLine, world: World) -> None:
    campaign = world.campaign(200)
    world.work.apply([world.message(campaign, world.call_ids(campaign)[0])])
    with world.engine.begin() as connection:
        lifecycle.pause(connection, campaign, "tester", "daily_quota_exceeded")

    assert document(mailward)["campaigns"][0]["eta_s"] is None
    assert f"{campaign}  paused (daily_quota_exceeded)  test" in mailward.out("status")


def test_unknown_deliveries_are_shown(mailward: CommandLine, world: World) -> None:
    campaign = world.campaign(2)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)
    world.later(timedelta(hours=23))
    world.move(campaign)

    assert document(mailward)["campaigns"][0]["stats"]["unknown"] == 2
    assert "unknown 2" in mailward.out("status")


def test_only_the_newest_of_those_that_are_over_are_shown(mailward: CommandLine, world: World) -> None:
    made = [world.campaign(1, start=False) for _ in range(7)]
    for campaign in made[:-1]:
        with world.engine.begin() as connection:
            lifecycle.cancel(connection, campaign, "tester")

    shown = [(one["id"], one["state"]) for one in document(mailward)["campaigns"]]

    assert shown == [(made[6], "draft"), *((made[number], "cancelled") for number in (5, 4, 3, 2, 1))]


def test_alerts_processes_and_counters_are_shown(mailward: CommandLine, world: World) -> None:
    since = utc_now() - timedelta(hours=3, minutes=10)
    with world.engine.begin() as connection:
        alert_states.write(connection, ("dead_letters", "email-events-dlq"), Remembered(State(since, since), 1284))
        alert_states.write(connection, ("duplicates", ""), Remembered(State(None, since), 0))
        heartbeats.beat(connection, "events", "one:1")
        counts.add(connection, {("outcome", "resend", "removed"): 17}, utc_now())

    found = document(mailward)
    shown = mailward.out("status")

    assert [(one["name"], one["subject"], one["value"]) for one in found["alerts"]] == [
        ("dead_letters", "email-events-dlq", 1284)
    ]
    assert "dead_letters email-events-dlq: 1,284, for 3 h" in shown
    assert [(one["process"], one["instance"]) for one in found["processes"]] == [("events", "one:1")]
    assert "SILENT" not in shown
    assert found["counters"] == [{"name": "outcome", "provider": "resend", "label": "removed", "n": 17}]


def test_a_process_that_fell_silent_is_marked(mailward: CommandLine, world: World) -> None:
    with world.engine.begin() as connection:
        heartbeats.beat(connection, "events", "one:1")
        connection.execute(text("UPDATE heartbeat SET seen_at = seen_at - 61000000"))

    assert "SILENT" in mailward.out("status")


def test_a_broker_that_is_away_is_said_and_the_rest_is_shown(mailward: CommandLine, world: World) -> None:
    campaign = world.campaign(1)
    mailward.environ["AMQP_URL"] = "amqp://guest:guest@127.0.0.1:1/%2F"

    shown = mailward.out("status")

    assert "the broker cannot be reached" in shown
    assert campaign in shown
    assert document(mailward)["broker"].startswith("broker_unreachable")
