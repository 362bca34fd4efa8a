"""`make incident`: a queue redelivers batches that the provider had accepted already; what do the recipients get?

A third of the batches of INCIDENT_RECIPIENTS (12,480) meets a worker that stalls after the provider's answer and before
the ack, until the broker's consumer time-out takes the message away and delivers it again. Three runs: with ledger and
keys, and leases that run out meanwhile; with the ledger alone, the provider ignoring keys; with neither, so that it is
seen that this check can fail. The last line is one JSON object; the exit status is 1 if a promise was broken.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import stalling_sends, time_lapse
from bench.environment import ROOT
from bench.send_system import SendSystem, running
from bench.stalling_sends import NO_LEDGER, SETTLED, UNSETTLED
from core.publisher import Publisher
from sender.campaign import OVER
from sender.sweeper import Sweeper

RECIPIENTS = 12_480
CONCURRENCY = 8
SANDBOX = {"latency_ms": 20, "muted": ["email.sent", "email.delivered"]}
# The broker's own patience, cut from half an hour to a second; it looks twice a second.
IMPATIENT = (
    "application:set_env(rabbit, consumer_timeout, 1000), application:set_env(rabbit, channel_tick_interval, 500)."
)
DEADLINE_S = 240.0
LAPSE_S = 60  # of the ledger's time a second: a lease of 120 s runs out under a stalled worker


@dataclass(frozen=True, slots=True)
class Seen:
    """What the recipients of one run got. `lost` recipients got nothing; `replays` are calls known by their key."""

    mails_min: int
    mails_max: int
    duplicates: int
    lost: int
    redelivered: int
    replays: int

    @property
    def once(self) -> bool:
        """Exactly one mail for everybody, although batches were redelivered."""
        return (self.mails_min, self.mails_max, self.duplicates, self.lost) == (1, 1, 0, 0) and self.redelivered > 0


def run(system: SendSystem, mode: str, recipients: int, *, keys: bool) -> Seen:
    """A campaign sent by a worker of bench.stalling_sends in `mode`; `keys`: whether the provider heeds our keys."""
    system.sandbox.set(**SANDBOX, keys=keys)
    replays = system.sandbox.stats()["replays"]
    campaign = system.draft(mode.replace("_", "-"), recipients)
    system.campaigns.start(campaign, "bench")
    system.fleet.spawn(mode, [sys.executable, "-m", "bench.stalling_sends", mode])
    if mode == NO_LEDGER:
        _publish_once(system)
        rest = _Rest(system)
        _wait(lambda: system.sandbox.recipients(campaign)["recipients"] == recipients and rest.is_lasting(), system)
    else:
        system.fleet.start("clock")
        with time_lapse.running(system.settings, active=mode == UNSETTLED, step_s=LAPSE_S):
            _wait(lambda: system.state(campaign) in OVER and _emptied(system), system)
    system.fleet.stop()
    counts = system.sandbox.recipients(campaign)
    return Seen(
        counts["min"], counts["max"], counts["duplicates"], recipients - counts["recipients"],
        len(_redelivered(system, mode)), system.sandbox.stats()["replays"] - replays,
    )  # fmt: skip


def _publish_once(system: SendSystem) -> None:
    """One message for each batch, as any producer would; the clock would go on, since no ledger ever says "sent"."""
    publisher = Publisher(system.settings.amqp_url, connection_name="bench")
    sweeper = Sweeper(system.engine, lambda messages: publisher.publish(messages, 30), system.topology)
    while sweeper.publish_due():
        continue
    publisher.close()


class _Rest:
    """Whether the queue has been empty for so long that the broker's figures, which lag behind, must be true."""

    LAG_S = 7.0  # a quorum queue tells its length every five seconds

    def __init__(self, system: SendSystem) -> None:
        self._system, self._since = system, time.monotonic()

    def is_lasting(self) -> bool:
        if not _emptied(self._system):
            self._since = time.monotonic()
        return time.monotonic() - self._since > self.LAG_S


def _emptied(system: SendSystem) -> bool:
    """Whether the queue holds no message, ready or unacked."""
    queues = dict(line.split("\t") for line in system.broker.ctl("list_queues", "name", "messages").splitlines()[1:])
    return queues[system.topology.batches.name] == "0"


def _wait(done: Callable[[], bool], system: SendSystem) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not done():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not done within {DEADLINE_S:.0f} s: {system.sandbox.stats()}")
        system.fleet.check()
        time.sleep(0.5)


def _redelivered(system: SendSystem, mode: str) -> set[str]:
    """The batches that the broker has delivered more than once."""
    lines = system.fleet.log(mode).read_text().splitlines()
    return {json.loads(line)["message_id"] for line in lines if stalling_sends.REDELIVERED in line}


def main() -> int:
    """Run three times, print what came of each, and the line of the first run with the last run's duplicates."""
    recipients = int(os.environ.get("INCIDENT_RECIPIENTS") or RECIPIENTS)
    directory = ROOT / ".mailward" / f"incident-{os.getpid()}"
    started = time.monotonic()
    kept = False
    try:
        with running(directory, "sqlite", SEND_CONCURRENCY=str(CONCURRENCY)) as system:
            system.broker.ctl("eval", IMPATIENT)
            first = run(system, UNSETTLED, recipients, keys=True)
            print(f"ledger and keys, leases run out: {first}", flush=True)
            keyless = run(system, SETTLED, recipients, keys=False)
            print(f"ledger alone, the provider ignores keys: {keyless}", flush=True)
            bare = run(system, NO_LEDGER, recipients, keys=False)
            print(f"neither: {bare}", flush=True)
        kept = first.once and keyless.once and bare.duplicates > 0
    finally:
        if kept:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"a promise was broken; logs and data are kept in {directory}", flush=True)
    line = {
        "recipients": recipients, "mails_min": first.mails_min, "mails_max": first.mails_max,
        "duplicates": first.duplicates + keyless.duplicates, "redelivered_batches": first.redelivered,
        "without_ledger_duplicates": bare.duplicates, "seconds": round(time.monotonic() - started, 1),
    }  # fmt: skip
    print(json.dumps(line))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
