"""After `pause` has answered, every later arrival at the provider is in the answer's list of calls in flight."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.ledger import lifecycle
from core.publisher import Publisher
from dev.sandbox.server import SandboxServer
from sender.sweeper import Sweeper
from tests.sending import World
from tests.system import System, wait_until

RECIPIENTS, ROUNDS = 2500, 4


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[SandboxServer]:
    """A provider that takes its time, so that a pause meets calls in every stage."""
    with SandboxServer(tmp_path / "sandbox", settings={"latency_ms": 30}) as server:
        yield server


def test_no_call_arrives_after_a_pause_but_those_it_lists(system: System, sandbox: SandboxServer) -> None:
    system.environ |= {"RESEND_API_URL": sandbox.url, "RESEND_API_KEY": "re_sandbox", "SEND_RATE": "0"}
    world = World(system.engine, system.redis, system.environ["MAILWARD_ENV"])
    campaign = world.campaign(RECIPIENTS)
    publisher = Publisher(system.environ["AMQP_URL"], connection_name="test")
    sweeper = Sweeper(system.engine, lambda messages: publisher.publish(messages, 10), system.topology)
    with system.channel():
        pass  # the topology is declared
    process = system.start(sys.executable, "-m", "consumer", "sends", name="sends", SEND_CONCURRENCY="4")
    done = threading.Event()
    sweeping = threading.Thread(target=lambda: _sweep_until(done, sweeper))
    sweeping.start()
    try:
        for _ in range(ROUNDS):
            before = world.status(campaign)["sent"]
            wait_until(lambda before=before: world.status(campaign)["sent"] > before, "sending")  # type: ignore[misc]
            with system.engine.begin() as connection:
                listed = {one.idempotency_key for one in lifecycle.pause(connection, campaign, "tester", "test")}
            paused_at = time.time()
            time.sleep(0.5)
            late = {one["key"] for one in sandbox.arrivals(since=paused_at)}
            assert late <= listed
            with system.engine.begin() as connection:
                lifecycle.resume(connection, campaign, "tester")
        wait_until(lambda: world.status(campaign)["sent"] == RECIPIENTS, "all sent", 60)
    finally:
        done.set()
        sweeping.join()
        publisher.close()

    assert system.stop(process) == 0
    counted = sandbox.recipients(campaign)
    assert (counted["recipients"], counted["min"], counted["max"]) == (RECIPIENTS, 1, 1)


def _sweep_until(done: threading.Event, sweeper: Sweeper) -> None:
    while not done.wait(0.2):
        sweeper.sweep()
