"""`make bench-sync`: how many events a second one consumer process applies and acks, beside its peers.

BENCH_N events (200,000) lie in a quorum queue and as many records in Redis, 10,000 further ones beside them. The
product and its peers take turns for BENCH_ROUNDS rounds (5); the last line is one JSON object of medians. Arguments
name contenders, if not all shall run. BENCH_DATABASE=postgresql gives the product PostgreSQL instead of SQLite.
"""

import json
import os
import shutil
import signal
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from bench import load
from bench.contenders import AioPika, Celery, Contender, Limit, Product, Services
from bench.environment import ROOT
from bench.measure import clock, peak_mb
from dev import processes
from dev.services import PostgreSQL, RabbitMQ, RedisServer, start_together

N = int(os.environ.get("BENCH_N", "200000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
FEW, MANY = 10_000, 1_000_000
SETTLE_S = 0.05  # counted: in it the last ack reaches the broker
REDIS_TIMEOUT_S = 60.0  # emptying it of a million records takes seconds
CROWDED = "mailward_1m"  # the product once more, with MANY further records
CONTENDERS: dict[str, type[Contender]] = {
    "mailward": Product,
    "aiopika": AioPika,
    "celery": Celery,
    "limit": Limit,
    CROWDED: Product,
}


class Bench:
    """Private services, and one contender after the other on them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._broker = RabbitMQ(directory / "rabbitmq")
        self._store = RedisServer(directory / "redis")
        self._sql = PostgreSQL(directory / "postgresql") if os.environ.get("BENCH_DATABASE") == "postgresql" else None
        self._databases = 0
        self.rss_mb = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """The services run for as long as the block does."""
        servers = [self._broker, self._store, *([self._sql] if self._sql else [])]
        with start_together(servers):
            yield

    def rate(self, name: str) -> float:
        """Events per second of one contender; everything it needs is made anew before and not timed."""
        services = Services(self._broker.url, self._store.url, self._new_database(), self._directory)
        contender, further = CONTENDERS[name](services), MANY if name == CROWDED else FEW
        with redis.Redis.from_url(services.redis_url, socket_timeout=REDIS_TIMEOUT_S) as store:
            load.fill_store(store, N, further)
            contender.fill(N)
            _wait_for(contender, N)
            process = contender.start()
            try:
                clocked = clock(store, N, further, contender.finished)
                time.sleep(SETTLE_S)
                if isinstance(contender, Product):
                    self.rss_mb = max(self.rss_mb, peak_mb(process.pid))
            finally:
                processes.signal_tree(process.pid, signal.SIGKILL)
                process.wait()
        time.sleep(1)  # the broker notices, and returns what was unacked
        contender.verify(N)
        return clocked.events / (clocked.seconds + SETTLE_S)

    def _new_database(self) -> str:
        self._databases += 1
        if self._sql:
            self._sql.execute(f"CREATE DATABASE bench_{self._databases}")
            return self._sql.database_url(f"bench_{self._databases}")
        return f"sqlite:///{self._directory / f'journal-{self._databases}.sqlite3'}"


def main(names: list[str]) -> None:
    """Run the rounds, print every figure as it comes, and the medians as the last line."""
    directory = ROOT / ".mailward" / f"bench-sync-{os.getpid()}"
    directory.mkdir(parents=True)
    rates: dict[str, list[float]] = defaultdict(list)
    try:
        bench = Bench(directory)
        with bench.running():
            for number in range(1, ROUNDS + 1):
                for name in names:
                    rates[name].append(bench.rate(name))
                    print(f"round {number}  {name:12s} {rates[name][-1]:9,.0f} events/s", flush=True)
        print(json.dumps(_report(rates, bench.rss_mb)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _wait_for(contender: Contender, n: int) -> None:
    deadline = time.monotonic() + 60
    while contender.ready() != n:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{contender.ready()} of {n} events are in the queue: the broker dropped some")
        time.sleep(0.2)


def _report(rates: dict[str, list[float]], rss_mb: float) -> dict[str, object]:
    medians = {name: statistics.median(values) for name, values in rates.items()}
    crowded = medians.pop(CROWDED, None)
    own = medians.get("mailward", 0.0)
    return {
        "events_per_s": {name: round(rate) for name, rate in medians.items()},
        "ratio": {name: round(own / rate, 2) for name, rate in medians.items() if name != "mailward"},
        "rate_1m_over_10k": round(crowded / own, 2) if crowded and own else None,
        "rss_mb": round(rss_mb, 1),
    }


if __name__ == "__main__":
    main(sys.argv[1:] or list(CONTENDERS))
