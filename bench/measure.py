"""The clock: from the first record seen to be gone until everything is applied and acked."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import redis

POLL_S = 0.02
STALL_S = 120.0  # without one more record gone: the contender is stuck, and waiting longer would not help


class Stalled(RuntimeError):
    """A contender stopped before everything was done; the text says how much was left."""


@dataclass(frozen=True, slots=True)
class Clocked:
    """`events` were applied in `seconds`."""

    events: int
    seconds: float


def clock(store: redis.Redis, n: int, further: int, finished: Callable[[], bool]) -> Clocked:
    """Wait until the `n` records beside the `further` ones are gone and `finished` says so; raises Stalled.

    Counting starts at the first deletion that is seen, so the start of a process costs nobody anything.
    """
    left, begun, moved = n, 0.0, time.monotonic()
    counted = 0
    while left or not finished():
        time.sleep(POLL_S)
        now, before = time.monotonic(), left
        left = int(store.dbsize()) - further
        if left < before:
            moved = now
            if not begun:
                begun, counted = now, left
        if now - moved > STALL_S:
            raise Stalled(f"nothing has moved for {STALL_S:.0f} s and {left} of {n} records are left")
    return Clocked(counted, time.monotonic() - begun)


def peak_mb(pid: int) -> float:
    """The largest resident set that the process or any child of it has had so far, in MB of 1,000,000 bytes."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return max([_own_peak_mb(pid), *(peak_mb(int(child)) for child in children)])


def _own_peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise Stalled(f"process {pid} has ended")
