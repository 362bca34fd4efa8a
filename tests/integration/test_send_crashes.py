"""A worker killed at each seam of a batch: as a process, with a real queue and what stands for the provider."""

import time
from collections.abc import Sequence
from datetime import timedelta

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from core import batch_message
from core.ledger import attempts, identity, sealing
from core.messages import Outgoing
from core.topology import Topology
from dev.sandbox.server import API_KEY, SandboxServer
from sender.sweeper import Sweeper
from tests.faulty_sends import KILLED, SEAMS, dead_at
from tests.forked import running
from tests.sending import World
from tests.system import wait_until

COUNT = 3
# What a kill leaves behind: the state of the call, where its members are counted, and how many mails have left.
LEFT = {
    "before the seal": ("planned", "remaining", 0),
    "before the reservation": ("planned", "remaining", 0),
    "after the reservation": ("planned", "remaining", 0),
    "after the seal": ("leased", "reserved", 0),
    "before the mark": ("leased", "reserved", 0),
    "at the mark": ("leased", "reserved", 0),
    "after the mark": ("calling", "reserved", 0),
    "before the call": ("calling", "reserved", 0),
    "after the call": ("calling", "reserved", COUNT),
    "before the response": ("calling", "reserved", COUNT),
    "after the response": ("calling", "reserved", COUNT),
    "before settling": ("calling", "reserved", COUNT),
    "after settling": ("calling", "reserved", COUNT),
    "before the ack": ("accepted", "sent", COUNT),
    "after the ack": ("accepted", "sent", COUNT),
}


@pytest.fixture
def environ(process_environ: dict[str, str], sandboxed: World, sandbox: SandboxServer) -> dict[str, str]:
    database_url = sandboxed.engine.url.render_as_string(hide_password=False)
    return process_environ | {
        "DATABASE_URL": database_url,
        "RESEND_API_URL": sandbox.url,
        "RESEND_API_KEY": API_KEY,
        "SEND_CONCURRENCY": "1",
    }


@pytest.fixture
def sweeper(sandboxed: World, channel: BlockingChannel, topology: Topology) -> Sweeper:
    def publish(messages: Sequence[Outgoing]) -> None:
        for one in messages:
            properties = pika.BasicProperties(message_id=one.message_id, delivery_mode=2)
            channel.basic_publish(one.exchange, one.routing_key, one.body, properties, mandatory=True)

    return Sweeper(sandboxed.engine, publish, topology)


def waiting(channel: BlockingChannel, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def carry_on(world: World, channel: BlockingChannel, queue: str) -> list[str]:
    """A healthy worker takes every message; what came of them."""
    results: list[str] = []
    while (found := channel.basic_get(queue))[0] is not None:
        results += world.work.apply([batch_message.decode(found[2] or b"")])
        channel.basic_ack(found[0].delivery_tag)
    return results


# Where SQL is what is cut, on both engines.
IN_SQL = [seam for seam in SEAMS if SEAMS[seam].owner in (sealing, attempts, identity)]
CUTS = [("sqlite", seam) for seam in SEAMS] + [("postgresql", seam) for seam in IN_SQL]


@pytest.mark.parametrize(("engine", "seam"), CUTS, indirect=["engine"])
def test_a_worker_that_is_killed_loses_no_mail_and_sends_none_twice(
    sandboxed: World,
    environ: dict[str, str],
    sandbox: SandboxServer,
    sweeper: Sweeper,
    channel: BlockingChannel,
    seam: str,
) -> None:
    world, queue = sandboxed, sweeper.topology.batches.name
    campaign = world.campaign(COUNT)
    with world.engine.begin() as connection:
        world.ledger_key.write(identity.own(connection))
    sweeper.sweep()

    assert dead_at(seam, environ) == KILLED

    state, counted, mails = LEFT[seam]
    wait_until(lambda: sandbox.stats()["mails"] == mails, f"{mails} mails have left")
    wait_until(lambda: waiting(channel, queue) == (seam != "after the ack"), "the message is back, unless it was acked")
    assert world.states(campaign) == [state]
    assert world.status(campaign)[counted] == COUNT

    carry_on(world, channel, queue)
    world.later(timedelta(minutes=11))
    sweeper.sweep()
    carry_on(world, channel, queue)
    sweeper.sweep()

    assert sandbox.recipients(campaign) == {"recipients": COUNT, "mails": COUNT, "min": 1, "max": 1, "duplicates": 0}
    assert world.status(campaign)["sent"] == COUNT
    assert world.state(campaign)[0] == "completed"
    assert waiting(channel, queue) == 0


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_a_worker_that_is_asked_to_stop_while_it_waits_for_the_rate_leaves_nobody_out(
    sandboxed: World, environ: dict[str, str], sandbox: SandboxServer, sweeper: Sweeper, channel: BlockingChannel
) -> None:
    world, queue = sandboxed, sweeper.topology.batches.name
    campaign = world.campaign(COUNT)
    world.redis.set(f"mailward:{world.env}:rate:{world.provider.account}:quiet", 1, px=4000)
    sweeper.sweep()
    with running("sends", environ) as process:
        wait_until(lambda: waiting(channel, queue) == 0, "the message is in hand")
        time.sleep(0.2)  # it waits for its token
        asked = time.monotonic()
        process.terminate()
        process.join(15)
        assert (process.exitcode, time.monotonic() - asked < 3) == (0, True)

    assert sandbox.arrivals() == []
    assert world.status(campaign)["remaining"] == COUNT
    world.redis.delete(f"mailward:{world.env}:rate:{world.provider.account}:quiet")
    world.later(timedelta(minutes=11))
    sweeper.sweep()
    carry_on(world, channel, queue)
    assert sandbox.recipients(campaign) == {"recipients": COUNT, "mails": COUNT, "min": 1, "max": 1, "duplicates": 0}
