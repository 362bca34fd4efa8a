"""The sweeper on a real ledger, on both engines: whatever is left behind, the next passes move it on, or say so."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from sqlalchemy import select, text

from core import batch_message, dead_letter_log
from core.batch_message import BatchMessage
from core.clock import utc_now
from core.dead_letter_log import Closing, Failure
from core.errors import Outage
from core.ledger import campaigns, due, identity, lifecycle, skipping
from core.ledger.completion import stalled
from core.ledger.sealing import Request, seal
from core.ledger.states import Happening
from core.ledger.tables import send_call
from core.messages import Outgoing
from core.topology import Topology
from sender.look import Looker
from sender.sweeper import Sweeper
from tests.sending import AMBIGUOUS, NOT_SENT, Provider, World, answering

HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
TOPOLOGY = Topology("test.")


@dataclass
class Broker:
    """Confirms what is published, or is away."""

    away: bool = False
    messages: list[Outgoing] = field(default_factory=list)

    def publish(self, messages: Sequence[Outgoing]) -> None:
        if self.away:
            raise Outage("broker_unreachable")
        self.messages += messages

    def take(self) -> list[BatchMessage]:
        """What lies in the queue, which is empty afterwards."""
        taken, self.messages = self.messages, []
        return [batch_message.decode(one.body) for one in taken]


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def sweeper(world: World, broker: Broker) -> Sweeper:
    return Sweeper(world.engine, broker.publish, TOPOLOGY)


def later(world: World, span: timedelta) -> None:
    """Let `span` pass, for messages and campaigns too."""
    world.later(span)
    us = span // timedelta(microseconds=1)
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE send_call SET published_at = published_at - :us"), {"us": us})
        connection.execute(
            text(
                "UPDATE campaign SET progress_at = progress_at - :us, started_at = started_at - :us,"
                " finished_at = finished_at - :us"
            ),
            {"us": us},
        )


def work(world: World, broker: Broker) -> list[str]:
    """Let a worker take every message."""
    return [result for message in broker.take() for result in world.work.apply([message])]


def pause(world: World, campaign: str) -> None:
    with world.engine.begin() as connection:
        lifecycle.pause(connection, campaign, "tester", "a test")


def resume(world: World, campaign: str) -> None:
    with world.engine.begin() as connection:
        lifecycle.resume(connection, campaign, "tester")


def cancel(world: World, campaign: str) -> None:
    with world.engine.begin() as connection:
        lifecycle.cancel(connection, campaign, "tester")


def test_a_started_campaign_is_published_worked_on_and_completed(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(250)

    assert sweeper.sweep() == {"published": 3}
    assert work(world, broker) == ["accepted"] * 3
    assert sweeper.sweep() == {"completed": 1}

    assert world.state(campaign) == ("completed", "")
    assert sweeper.sweep() == {}


def test_a_message_names_its_call_and_its_ledger_and_goes_to_the_queue_of_batches(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    (call,) = world.call_ids(campaign)

    sweeper.sweep()

    (message,) = broker.messages
    assert (message.exchange, message.routing_key) == (TOPOLOGY.work_exchange, TOPOLOGY.batches.name)
    assert message.message_id == f"batch:{campaign}.{call}"
    assert batch_message.decode(message.body) == world.message(campaign, call)


def test_a_message_that_is_still_on_its_way_is_not_repeated(world: World, broker: Broker, sweeper: Sweeper) -> None:
    world.campaign(1)
    sweeper.sweep()

    assert sweeper.sweep() == {}
    later(world, timedelta(seconds=4))
    assert sweeper.sweep() == {}


def test_a_lost_message_is_published_again_later_and_later(world: World, broker: Broker, sweeper: Sweeper) -> None:
    world.campaign(1)
    assert sweeper.publish_due() == 1

    for seconds in (5.5, 11, 22, 44, 88, 176, 352, 600, 600):
        later(world, timedelta(seconds=seconds - 1))
        assert sweeper.publish_due() == 0
        later(world, timedelta(seconds=1))
        assert sweeper.publish_due() == 1


def test_a_message_behind_many_others_is_waited_for_longer(world: World, broker: Broker, sweeper: Sweeper) -> None:
    world.campaign(1000)
    assert sweeper.publish_due() == 10

    later(world, timedelta(seconds=9))
    assert sweeper.publish_due() == 0
    later(world, timedelta(seconds=1))
    assert sweeper.publish_due() == 10


def test_what_the_broker_did_not_confirm_is_published_again_at_once(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    world.campaign(1)
    broker.away = True
    with pytest.raises(Outage):
        sweeper.sweep()

    broker.away = False
    assert sweeper.sweep() == {"published": 1}


def test_without_a_broker_the_rest_of_a_pass_is_done(world: World, broker: Broker, sweeper: Sweeper) -> None:
    done, waiting = world.campaign(1), world.campaign(1)
    world.move(done)
    broker.away = True

    with pytest.raises(Outage):
        sweeper.sweep()

    assert world.state(done)[0] == "completed"
    assert world.states(waiting) == ["planned"]


def test_only_some_messages_are_published_ahead_of_the_workers(
    world: World, broker: Broker, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due, "AHEAD", 2)
    world.campaign(350)

    assert sweeper.sweep() == {"published": 2}
    assert sweeper.sweep() == {}
    work(world, broker)
    assert sweeper.sweep() == {"published": 2}


def test_no_campaign_starves_another(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaigns = [world.campaign(300), world.campaign(300), world.campaign(300)]

    assert sweeper.publish_due() == 9
    assert {message.campaign_id for message in broker.take()} == set(campaigns)


def test_one_campaign_can_be_published_alone(world: World, broker: Broker, sweeper: Sweeper) -> None:
    _, wanted = world.campaign(1), world.campaign(1)

    assert sweeper.publish_due(wanted) == 1
    assert [message.campaign_id for message in broker.take()] == [wanted]


def test_a_waiting_call_is_published_when_it_is_due_even_though_its_message_was_acked(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    world.provider.script = [Provider.accept_and_drop]
    sweeper.sweep()
    assert work(world, broker) == ["retry_wait"]

    assert sweeper.sweep() == {}
    later(world, timedelta(minutes=1))
    assert sweeper.sweep() == {"published": 1}
    assert work(world, broker) == ["accepted"]
    assert world.provider.mails == {"reader000@example.com": 1}
    assert world.states(campaign) == ["accepted"]


@pytest.mark.parametrize("state", ["leased", "calling"])
def test_a_call_whose_worker_is_gone_is_published_when_its_lease_has_run_out(
    world: World, broker: Broker, sweeper: Sweeper, state: str
) -> None:
    campaign = world.campaign(1)
    sweeper.sweep()
    killed(world, broker, state)
    assert world.states(campaign) == [state]

    assert sweeper.sweep() == {}
    later(world, timedelta(seconds=121))
    assert sweeper.sweep() == {"published": 1}
    assert work(world, broker) == ["accepted"]


def killed(world: World, broker: Broker, state: str) -> None:
    """A worker takes the message and dies with its call in `state`, its bytes not sent."""
    if state == "calling":
        world.provider.script = [die]
        with pytest.raises(SystemExit):
            work(world, broker)
        return
    (message,) = broker.take()
    looker = Looker(world.store, world.provider, world.env, "a made-up secret of tests")
    with world.engine.begin() as connection:
        world.ledger_key.write(identity.own(connection))
        found = campaigns.find(connection, message.campaign_id)
        call = connection.execute(select(send_call)).one()
        look = looker.look(connection, found, call)
        request = Request(look.fragments, {}, world.provider.body, world.env, "account-1", "lost", 120_000_000)
        assert seal(connection, message.campaign_id, call.id, request)


def die(*_: object) -> None:
    raise SystemExit


def test_an_open_dead_letter_keeps_its_call_back_until_it_is_closed(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    sweeper.sweep()
    (message,) = broker.messages
    with world.engine.begin() as connection:
        failure = Failure(TOPOLOGY.batches.name, message.message_id, 0, 3, utc_now(), "KeyError", "", "", campaign)
        dead_letter_log.record(connection, failure)
    later(world, HOUR)

    assert sweeper.sweep() == {}
    with world.engine.begin() as connection:
        dead_letter_log.close(
            connection, Closing(TOPOLOGY.batches.name, message.message_id, 0, "discarded", "a test", utc_now())
        )
    assert sweeper.sweep() == {"published": 1}


def test_dead_letters_of_another_queue_or_campaign_keep_nothing_back(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    (call,) = world.call_ids(campaign)
    others = [(TOPOLOGY.events.name, f"batch:{campaign}.{call}"), (TOPOLOGY.batches.name, f"batch:{campaign}.{call}0")]
    with world.engine.begin() as connection:
        for queue, message_id in others:
            dead_letter_log.record(connection, Failure(queue, message_id, 0, 3, utc_now(), "KeyError", "", ""))

    assert sweeper.sweep() == {"published": 1}


def test_a_paused_campaign_is_not_published_until_it_is_resumed(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(1)
    pause(world, campaign)

    assert sweeper.sweep() == {}
    resume(world, campaign)
    assert sweeper.sweep() == {"published": 1}


def test_pending_members_that_no_call_covers_are_planned(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(150)
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE send_call SET state = 'discarded'"))

    assert sweeper.sweep() == {"planned": 2, "published": 2}
    work(world, broker)
    sweeper.sweep()
    assert world.state(campaign)[0] == "completed"
    assert world.status(campaign)["sent"] == 150


def test_members_are_not_planned_while_a_call_is_open(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(150)
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE send_call SET state = 'discarded' WHERE id = (SELECT min(id) FROM send_call)"))

    assert sweeper.sweep() == {"published": 1}
    assert len(world.call_ids(campaign)) == 2


@pytest.mark.parametrize("state", ["running", "paused", "cancelled"])
def test_a_call_past_its_window_becomes_unknown_whatever_its_campaign_does(
    world: World, broker: Broker, sweeper: Sweeper, state: str
) -> None:
    campaign = world.campaign(2)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)
    if state == "paused":
        pause(world, campaign)

    later(world, timedelta(hours=21, minutes=59))
    assert "unknown" not in sweeper.sweep()
    if state == "cancelled":
        cancel(world, campaign)
    later(world, timedelta(minutes=1))
    sweeper.sweep()

    assert world.states(campaign) == ["unknown"]
    assert world.status(campaign)["unknown"] == 2
    assert world.provider.mails == {}


def test_unknown_deliveries_are_counted(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(2)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)
    later(world, DAY)

    assert sweeper.sweep() == {"unknown": 1, "completed_with_issues": 1}

    (counted,) = world.rows("SELECT label, n FROM counts WHERE name = 'unknown'")
    assert tuple(counted) == ("window_passed", 2)


@pytest.mark.parametrize(
    ("state", "calls", "status"),
    [("leased", ["discarded", "planned"], "remaining"), ("calling", ["retry_wait"], "reserved")],
)
def test_what_a_lost_worker_held_of_a_paused_campaign_is_let_go(
    world: World, broker: Broker, sweeper: Sweeper, state: str, calls: list[str], status: str
) -> None:
    campaign = world.campaign(1)
    sweeper.sweep()
    killed(world, broker, state)
    pause(world, campaign)

    assert sweeper.sweep() == {}
    later(world, timedelta(seconds=121))
    assert sweeper.sweep() == {"released": 1}

    assert world.states(campaign) == calls
    assert world.status(campaign)[status] == 1
    resume(world, campaign)
    later(world, HOUR)
    sweeper.sweep()
    work(world, broker)
    assert world.provider.mails == {"reader000@example.com": 1}


def test_what_a_lost_worker_was_calling_of_a_cancelled_campaign_becomes_unknown(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    sweeper.sweep()
    killed(world, broker, "calling")
    cancel(world, campaign)
    assert world.states(campaign) == ["calling"]

    later(world, timedelta(seconds=121))
    assert sweeper.sweep() == {"unknown": 1}

    assert world.states(campaign) == ["unknown"]
    assert world.status(campaign)["unknown"] == 1


def test_a_call_that_waits_again_after_its_campaign_was_cancelled_becomes_unknown(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    world.provider.before = lambda: cancel(world, campaign)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)
    assert world.states(campaign) == ["retry_wait"]

    assert sweeper.sweep() == {"unknown": 1}


def test_failed_members_leave_issues(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(2)
    world.provider.script = [answering(Happening.REJECTED, 422, "validation_error", culprits=(0,))]
    for _ in range(2):
        sweeper.sweep()
        work(world, broker)
    sweeper.sweep()

    assert world.status(campaign)["failed"] == 1
    assert world.state(campaign)[0] == "completed_with_issues"


def test_a_campaign_is_complete_after_all_once_its_unknown_deliveries_are_proven(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    world.provider.script = [Provider.accept_and_drop]
    world.move(campaign)
    later(world, DAY)
    sweeper.sweep()
    assert world.state(campaign)[0] == "completed_with_issues"

    (call,) = world.call_ids(campaign)
    with world.engine.begin() as connection:
        lifecycle.resolve(connection, call, "tester", Happening.ASSUMED_SENT)
    assert sweeper.sweep() == {"completed": 1}
    assert sweeper.sweep() == {}


def test_a_campaign_runs_again_when_an_operator_has_an_unknown_call_resent(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)
    later(world, DAY)
    sweeper.sweep()
    (call,) = world.call_ids(campaign)
    with world.engine.begin() as connection:
        lifecycle.resolve(connection, call, "tester", Happening.RESENT)

    sweeper.sweep()
    work(world, broker)
    sweeper.sweep()

    assert world.provider.mails == {"reader000@example.com": 1}
    assert world.state(campaign)[0] == "completed"


def test_counters_that_do_not_add_up_are_no_completion(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(2)
    world.move(campaign)
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE delivery_ledger SET status = 'reserved' WHERE recipient_id = 'r001'"))

    assert sweeper.sweep() == {"completed_with_issues": 1}
    assert world.state(campaign)[0] == "completed_with_issues"


def test_a_campaign_without_progress_for_ten_minutes_is_named(world: World, sweeper: Sweeper) -> None:
    moving, standing, paused = world.campaign(1), world.campaign(1), world.campaign(1)
    pause(world, paused)
    later(world, timedelta(minutes=10))
    world.move(moving)

    with world.engine.begin() as connection:
        found = stalled(connection, 600_000_000)

    assert [one.campaign_id for one in found] == [standing]


def test_a_resumed_campaign_has_ten_minutes_again(world: World) -> None:
    campaign = world.campaign(1)
    pause(world, campaign)
    later(world, HOUR)
    resume(world, campaign)

    with world.engine.begin() as connection:
        assert stalled(connection, 600_000_000) == []


def test_refused_connections_are_repeated_until_the_provider_is_back(
    world: World, broker: Broker, sweeper: Sweeper
) -> None:
    campaign = world.campaign(1)
    world.provider.script = [answering(NOT_SENT)] * 5
    for _ in range(6):
        sweeper.sweep()
        work(world, broker)
        later(world, HOUR)
    sweeper.sweep()

    assert world.state(campaign)[0] == "completed"
    assert world.provider.mails == {"reader000@example.com": 1}


# --- a cancelled campaign of very many ---


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skipping, "SLICE", 2)


@pytest.mark.usefixtures("small_slices")
def test_whom_a_cancel_has_not_come_to_is_skipped_by_the_sweeper(world: World, sweeper: Sweeper) -> None:
    campaign = world.campaign(7)
    cancel(world, campaign)
    before = world.status(campaign)

    assert sweeper.sweep() == {"slices_skipped": 3}

    assert (before["skipped"], before["remaining"]) == (2, 5)
    assert world.status(campaign)["skipped"] == 7
    assert {row.reason for row in world.rows("SELECT reason FROM delivery_ledger")} == {"cancelled"}
    assert sweeper.sweep() == {}


@pytest.mark.usefixtures("small_slices")
def test_one_pass_skips_some_and_the_next_goes_on(
    world: World, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sender.sweeper.SKIPPED", 1)
    campaign = world.campaign(7)
    cancel(world, campaign)

    passes = [sweeper.sweep().get("slices_skipped", 0) for _ in range(5)]

    assert passes == [1, 1, 1, 0, 0]
    assert world.status(campaign)["skipped"] == 7


@pytest.mark.usefixtures("small_slices")
def test_nobody_is_mailed_whom_a_cancel_has_not_come_to_yet(world: World, broker: Broker, sweeper: Sweeper) -> None:
    campaign = world.campaign(250)
    sweeper.sweep()

    cancel(world, campaign)

    assert work(world, broker) == ["settled_already"] * 3
    assert world.provider.calls == []


@pytest.mark.usefixtures("small_slices")
def test_a_running_campaign_is_not_skipped(world: World) -> None:
    campaign = world.campaign(3)

    assert skipping.skip_some(world.engine, campaign) == 0

    assert world.status(campaign)["remaining"] == 3
