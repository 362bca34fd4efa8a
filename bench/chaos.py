"""`make chaos`: 96,000 sends while everything is killed and restarted, once on SQLite and once on PostgreSQL.

CHAOS_SEED draws what happens when (printed, so that a run can be repeated); CHAOS_CAMPAIGNS (8) campaigns of
CHAOS_RECIPIENTS (12,000) each are sent meanwhile, with CHAOS_KILLS (64) kills and CHAOS_RESTARTS (6) restarts.
CHAOS_HURRY=1 cuts the ledger's waits short (bench.time_lapse). Arguments name the engines, if not both shall run. The
last line is one JSON object; the exit status is 1 if a promise was broken, and then the logs are kept.
"""

import json
import os
import random
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict

from bench.chaos_run import Outcome, Size, run
from bench.environment import ROOT
from bench.send_system import ENGINES


def main(engines: list[str]) -> int:
    """Run on each engine, print what came of it, and the worst of both as the last line."""
    seed = int(os.environ.get("CHAOS_SEED") or random.SystemRandom().randrange(1_000_000))
    size = _size(os.environ)
    directory = ROOT / ".mailward" / f"chaos-{os.getpid()}"
    outcomes = []
    print(f"CHAOS_SEED={seed}", flush=True)
    try:
        for engine in engines:
            outcomes.append(run(directory / engine, engine, seed, size))
            print(f"{engine}: {json.dumps(asdict(outcomes[-1]))}", flush=True)
    finally:
        if len(outcomes) == len(engines) and all(one.kept(size) for one in outcomes):
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"logs and data are kept in {directory}", flush=True)
    print(json.dumps(_worst(outcomes)))
    return 0 if all(one.kept(size) for one in outcomes) else 1


def _size(environ: Mapping[str, str]) -> Size:
    def given(name: str) -> int:
        return int(environ.get(f"CHAOS_{name.upper()}") or getattr(Size(), name))

    return Size(
        given("campaigns"), given("recipients"), given("kills"), given("restarts"), bool(environ.get("CHAOS_HURRY"))
    )


def _worst(outcomes: list[Outcome]) -> dict[str, float]:
    smaller, larger = ("sends", "kills", "restarts"), ("duplicates", "lost", "unknown", "skipped", "seconds")
    order = ("sends", "duplicates", "lost", "unknown", "skipped", "kills", "restarts", "seconds")
    worst = {name: min(getattr(one, name) for one in outcomes) for name in smaller}
    worst |= {name: max(getattr(one, name) for one in outcomes) for name in larger}
    return {name: worst[name] for name in order}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(ENGINES)))
