"""`make bench-ledger`: what the delivery ledger costs, in time and on the disk, on SQLite and on PostgreSQL.

BENCH_ROUNDS (3) rounds on each engine: a campaign of BENCH_SENT (100,000) recipients is sent call by call, another of
BENCH_LOADED (1,000,000) loaded, started, and looked at; then a real worker is kept busy. The last line is one JSON
object of medians (rss and status: the worse engine). Arguments name parts: calls, load, saturation.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine

from bench import ledger_audience, ledger_calls, ledger_saturation
from bench.environment import ROOT
from bench.ledger_audience import MAIL
from bench.ledger_calls import Caller
from config.settings import load
from core import database
from core.ledger import campaigns
from core.ledger.states import Happening
from core.recipients import RecipientStore, connect
from dev.services import PostgreSQL
from sender.campaign import Campaigns

ROUNDS = int(os.environ.get("BENCH_ROUNDS") or 3)
SENT = int(os.environ.get("BENCH_SENT") or 100_000)
LOADED = int(os.environ.get("BENCH_LOADED") or 1_000_000)
SATURATED = int(os.environ.get("BENCH_SATURATED") or 40_000)
ENGINES = ("sqlite", "postgresql")
UNKNOWN, FEW = 20, 50  # calls of the large campaign: of unknown outcome, and sent
LOOKS = 20
Figures = dict[str, dict[str, list[float]]]


class Bench:
    """Rounds on databases that are made anew each time."""

    def __init__(self, directory: Path, server: PostgreSQL) -> None:
        self._directory, self._server = directory, server
        self._databases = 0
        self.figures: Figures = defaultdict(lambda: defaultdict(list))

    def calls(self, engine_name: str) -> None:
        """Time and bytes of a campaign that is sent."""
        path = ledger_audience.write(self._directory / "sent.ndjson", SENT)
        with self._fresh(engine_name) as (url, engine):
            ledger_calls.fill_journal(engine)
            campaign, _ = self._load(url, engine, path)
            _campaigns(url, engine).start(campaign, "bench")
            cost = ledger_calls.measure(engine, campaign)
        self._note(engine_name, ms_per_call=cost.ms_per_call, bytes_per_sent=cost.bytes_per_sent)
        parts = f"seal {cost.seal_ms:.2f}, begin {cost.begin_ms:.2f}, settle {cost.settle_ms:.2f}"
        print(
            f"{engine_name:10s} {cost.ms_per_call:5.2f} ms a call ({parts}), {cost.bytes_per_sent:.0f} bytes",
            flush=True,
        )

    def load(self, engine_name: str) -> None:
        """A large audience: loaded, planned, looked at."""
        path = self._directory / "loaded.ndjson"
        if not path.exists():
            ledger_audience.write(path, LOADED)
        with self._fresh(engine_name) as (url, engine):
            campaign, loaded = self._load(url, engine, path)
            assert loaded["rows"] == LOADED, loaded
            _campaigns(url, engine).start(campaign, "bench")
            status_ms = _status_ms(engine, campaign)
        rate = LOADED / loaded["seconds"]
        self._note(engine_name, load_rows_per_s=rate, load_rss_mb=loaded["rss_mb"], status_ms=status_ms)
        shown = f"{rate:9,.0f} rows/s, {loaded['rss_mb']:.0f} MB, status in {status_ms:.1f} ms"
        print(f"{engine_name:10s} {shown}", flush=True)

    def saturation(self) -> None:
        """A worker kept busy."""
        directory = self._directory / "saturation"
        value = ledger_saturation.measure(directory, SATURATED)
        shutil.rmtree(directory)
        self._note("sqlite", saturation=value)
        print(f"saturation {value:.3f}", flush=True)

    def _load(self, url: str, engine: Engine, path: Path) -> tuple[str, dict[str, float]]:
        campaign = _campaigns(url, engine).create("bench", MAIL, "bench")
        command = [sys.executable, "-m", "bench.ledger_load", url, campaign, str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        loaded: dict[str, float] = json.loads(done.stdout)
        return campaign, loaded

    @contextmanager
    def _fresh(self, engine_name: str) -> Iterator[tuple[str, Engine]]:
        self._databases += 1
        name = f"bench_{self._databases}"
        if engine_name == "postgresql":
            self._server.execute(f"CREATE DATABASE {name}")
            url = self._server.database_url(name)
        else:
            url = f"sqlite:///{self._directory / name}.sqlite3"
        engine = database.create(url)
        database.upgrade(engine)
        try:
            yield url, engine
        finally:
            engine.dispose()
            if engine_name == "postgresql":
                self._server.execute(f"DROP DATABASE {name}")
            for path in self._directory.glob(f"{name}.*"):
                path.unlink()

    def _note(self, engine_name: str, **figures: float) -> None:
        for name, value in figures.items():
            self.figures[name][engine_name].append(value)


def _campaigns(url: str, engine: Engine) -> Campaigns:
    settings = load({"DATABASE_URL": url, "MAILWARD_ENV": ledger_calls.ENV})
    return Campaigns.of(settings, engine, RecipientStore(connect(settings), settings.recipient_key), patient=True)


def _status_ms(engine: Engine, campaign_id: str) -> float:
    """The median of some looks at a campaign of which a few calls are sent and a few are of unknown outcome."""
    caller = Caller(engine, campaign_id)
    for number, call_id in enumerate(caller.calls()[: FEW + UNKNOWN]):
        caller.make(call_id, Happening.KEY_TAKEN if number < UNKNOWN else Happening.ACCEPTED)
    took = []
    for _ in range(LOOKS):
        started = time.perf_counter()
        with database.reading(engine) as connection:
            status = campaigns.delivery_status(connection, campaign_id)
        took.append((time.perf_counter() - started) * 1000)
    assert status["unknown"] == UNKNOWN * 100, status
    return statistics.median(took)


def main(parts: list[str]) -> None:
    """Run the rounds, print every figure as it comes, and the medians as the last line."""
    directory = ROOT / ".mailward" / f"bench-ledger-{os.getpid()}"
    directory.mkdir(parents=True)
    directory.chmod(0o711)  # the user postgres has to pass
    try:
        with PostgreSQL(directory / "postgresql") as server:
            bench = Bench(directory, server)
            for _ in range(ROUNDS):
                for engine_name in ENGINES:
                    if "calls" in parts:
                        bench.calls(engine_name)
                    if "load" in parts:
                        bench.load(engine_name)
                if "saturation" in parts:
                    bench.saturation()
        print(json.dumps(_report(bench.figures)))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _report(figures: Figures) -> dict[str, object]:
    medians = {name: {one: statistics.median(them) for one, them in by.items()} for name, by in figures.items()}
    report: dict[str, object] = {}
    for name, digits in (("ms_per_call", 2), ("bytes_per_sent", 0), ("load_rows_per_s", 0)):
        report[name] = {one: round(value, digits) for one, value in medians.get(name, {}).items()}
    for name, digits in (("load_rss_mb", 0), ("status_ms", 1), ("saturation", 3)):
        report[name] = round(max(medians.get(name, {"": 0.0}).values()), digits)
    return report


if __name__ == "__main__":
    main(sys.argv[1:] or ["calls", "load", "saturation"])
