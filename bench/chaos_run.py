"""One run of the chaos: campaigns are sent while processes are killed, services restarted and calls mistreated."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from bench import chaos_plan, time_lapse
from bench.chaos_plan import PROCESSES, Step
from bench.send_system import SendSystem, running
from sender.campaign import OVER

FAULTS = {
    "drop_accepted": {"probability": 0.02},
    "error_accepted": {"probability": 0.02},
    "cut_accepted": {"probability": 0.01},
    "slow_accepted": {"probability": 0.01},
    "error": {"probability": 0.01},
}
# The answers of a storm name the rate, and the workers believe them. Events come late enough for some calls to be
# repeated before their events prove them.
SANDBOX = {"rate_per_s": 40, "latency_ms": 100, "slow_s": 3.0, "sent_delay_s": 8.0, "muted": ["email.delivered"]}
DEADLINE_S = 540.0
POLL_S = 1.0


class NotDone(RuntimeError):
    """The campaigns did not come to their end in time; the text says how far they came."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything; with `hurry` the ledger's waits are cut short (bench.time_lapse)."""

    campaigns: int = 8
    recipients: int = 12_000
    kills: int = 64
    restarts: int = 6
    hurry: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run. `faults` is what the sandbox did, `replays` the calls that it recognised by their key."""

    sends: int
    duplicates: int
    lost: int
    unknown: int
    skipped: int
    adds_up: bool
    kills: int
    restarts: int
    seconds: float
    replays: int
    faults: dict[str, int]

    def kept(self, size: Size) -> bool:
        """Whether every promise was kept."""
        bad = self.duplicates or self.lost or self.unknown or self.skipped
        enough = self.kills >= size.kills and self.restarts >= size.restarts
        return self.adds_up and not bad and self.sends == size.campaigns * size.recipients and enough


def run(directory: Path, engine: str, seed: int, size: Size) -> Outcome:
    """One run on one engine; nothing is left behind but the logs under `directory`."""
    started = time.monotonic()
    with running(directory, engine, seed, SEND_CONCURRENCY="2") as system:
        system.sandbox.set(**SANDBOX, faults=FAULTS)
        drafts = [system.draft(f"c{number}", size.recipients) for number in range(size.campaigns)]
        system.fleet.start(*PROCESSES)
        with time_lapse.running(system.settings, active=size.hurry):
            done = _befall(system, chaos_plan.plan(seed, size.kills, size.restarts), drafts)
            _wait(system, drafts, started + DEADLINE_S)
        return _judged(system, drafts, size, done, time.monotonic() - started)


def _befall(system: SendSystem, steps: list[Step], drafts: list[str]) -> Counter[str]:
    """Take the steps, and start the campaigns one after the other meanwhile."""
    done: Counter[str] = Counter()
    waiting = list(drafts)
    for number, step in enumerate(steps):
        if len(waiting) > (1 - number / len(steps)) * (len(drafts) - 1):
            system.campaigns.start(waiting.pop(0), "chaos")
        time.sleep(step.pause_s)
        system.fleet.check()
        if step.action == "kill":
            system.fleet.kill(step.target)
            system.fleet.start(step.target)
        elif step.action == "restart":
            {"rabbitmq": system.broker, "redis": system.store}[step.target].restart()
        else:
            system.sandbox.fault("storm", count=step.calls)
        done[step.action] += 1
    for draft in waiting:
        system.campaigns.start(draft, "chaos")
    return done


def _wait(system: SendSystem, drafts: list[str], deadline: float) -> None:
    """Until every campaign is over and every mail's event has been applied."""
    while True:
        states = Counter(system.state(draft) for draft in drafts)
        if set(states) <= set(OVER) and not system.without_event():
            return
        if time.monotonic() > deadline:
            statuses = [system.status(draft) for draft in drafts]
            raise NotDone(f"{states}, {system.without_event()} mails without an event, {statuses}")
        if system.sandbox.stats()["webhooks"]["given_up"]:
            system.sandbox.redeliver()
        system.fleet.check()
        time.sleep(POLL_S)


def _judged(system: SendSystem, drafts: list[str], size: Size, done: Counter[str], seconds: float) -> Outcome:
    total: Counter[str] = Counter()
    mailed = duplicates = 0
    adds_up = True
    for draft in drafts:
        status, counted = system.status(draft), system.counted(draft)
        seen = system.sandbox.recipients(draft)
        total.update(status)
        mailed, duplicates = mailed + seen["recipients"], duplicates + seen["duplicates"]
        same = all(status[name] == counted.get(name, 0) for name in ("sent", "reserved", "failed", "skipped"))
        adds_up &= same and status["sent"] == seen["recipients"] and system.state(draft) == "completed"
    stats = system.sandbox.stats()
    return Outcome(
        sends=total["sent"], duplicates=duplicates, lost=size.campaigns * size.recipients - mailed,
        unknown=total["unknown"], skipped=total["skipped"], adds_up=adds_up, kills=done["kill"],
        restarts=done["restart"], seconds=round(seconds, 1), replays=stats["replays"], faults=stats["faults"],
    )  # fmt: skip
