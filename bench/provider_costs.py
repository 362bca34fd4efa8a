"""What one event costs before it is published: proof and normal form, for each provider, in microseconds.

In this process and one thread, on the hard bounces of bench.provider_posts, which says who posts how many in one body;
what a body costs is divided by its events. Certificates are fetched and cached before. Counted is the thread's CPU
time, which other processes disturb least. All providers take turns in each of BENCH_ROUNDS rounds (5), and the median
counts. The last line of `python -m bench.provider_costs` is one JSON object.
"""

import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from bench import provider_posts
from core import clock
from providers.base import Provider, Request

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
EVENTS = 2000  # of each provider in each round


@dataclass(frozen=True, slots=True)
class Round:
    """Microseconds per event of one round."""

    verify_us: float
    normalise_us: float


def main() -> None:
    """Measure, print what each provider's part is, and the costs as the last line."""
    rounds = measure(ROUNDS)
    for name, measured in rounds.items():
        verify_us = statistics.median(one.verify_us for one in measured)
        normalise_us = statistics.median(one.normalise_us for one in measured)
        print(f"{name:14s} verify {verify_us:5.1f} µs   normalise {normalise_us:5.1f} µs", flush=True)
    print(json.dumps({"provider_us": provider_us(rounds)}))


def provider_us(rounds: dict[str, list[Round]]) -> dict[str, float]:
    """Name → median microseconds of proof and normal form of one event."""
    return {
        name: round(statistics.median(one.verify_us + one.normalise_us for one in measured), 1)
        for name, measured in rounds.items()
    }


def measure(rounds: int, events: int = EVENTS) -> dict[str, list[Round]]:
    """Name → what each of `rounds` rounds took; `events` is how many events a round has of each provider, or nearly."""
    now = clock.utc_now()
    posts = [(provider, provider_posts.hard_bounces(provider, now)) for provider in provider_posts.made().values()]
    requests = [(provider, Request(post.headers, post.body, now)) for provider, post in posts]
    for provider, request in requests:
        provider.verify(request)  # fetches its certificate, if it has one
    taken: dict[str, list[Round]] = defaultdict(list)
    for _ in range(rounds):
        for provider, request in requests:
            taken[provider.name].append(_round(provider, request, events))
    return dict(taken)


def _round(provider: Provider, request: Request, events: int) -> Round:
    in_one = provider_posts.BATCHES.get(provider.name, 1)
    repeats = max(1, events // in_one)
    verify_us = _cpu_us(lambda: provider.verify(request), repeats)
    normalise_us = _cpu_us(lambda: provider.normalise(request), repeats)
    return Round(verify_us / in_one, normalise_us / in_one)


def _cpu_us(call: Callable[[], object], repeats: int) -> float:
    """Microseconds of CPU that one `call` takes on average."""
    started = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - started) / repeats * 1e6


if __name__ == "__main__":
    main()
