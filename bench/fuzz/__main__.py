"""`make fuzz`: 100,000 bodies at the real endpoint, with genuine proofs: no crash, nobody removed without evidence.

FUZZ_BODIES (100000) are shared out among all providers, grown from their recorded payloads (bench.fuzz.grammar);
FUZZ_SEED (1) draws them, the same ones every time. What a body may justify is read from it by rules of their own
(bench.fuzz.documented). The last line is one JSON object; the exit status is 1 if anything crashed or was removed
without evidence, and then the bodies stand on standard error.
"""

import json
import logging
import os
import sys
import time
from dataclasses import asdict
from typing import Any

import click
from hypothesis import HealthCheck, Phase, given, seed, settings

from bench import provider_posts
from bench.fuzz.campaign import Campaign
from bench.fuzz.grammar import bodies


def main() -> int:
    """Post everything, print a line for each provider, and the sums as the last one."""
    total, first_seed = int(os.environ.get("FUZZ_BODIES") or 100_000), int(os.environ.get("FUZZ_SEED") or 1)
    logging.disable(logging.CRITICAL)  # the endpoint writes a line for each post
    print(f"FUZZ_SEED={first_seed}", flush=True)
    started, campaign = time.monotonic(), Campaign(provider_posts.made())
    names = sorted(campaign.tallies)
    with click.progressbar(length=total, label="bodies", file=sys.stderr) as bar:
        for place, name in enumerate(names):
            _post(campaign, name, total // len(names) + (place < total % len(names)), first_seed, bar)
    for name, tally in campaign.tallies.items():
        print(f"{name:14s} {' '.join(f'{what} {n:,}' for what, n in asdict(tally).items())}")
    report = _report(campaign, time.monotonic() - started)
    print(json.dumps(report))
    return 1 if report["crashes"] or report["unjustified_removals"] else 0


def _post(campaign: Campaign, name: str, n: int, first_seed: int, bar: Any) -> None:
    """Draw `n` bodies of provider `name` and post each."""

    @seed(first_seed)
    @settings(
        max_examples=n,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(body=bodies(name))
    def each(body: bytes) -> None:
        campaign.post(name, body)
        bar.update(1)

    each()
    if (drawn := campaign.tallies[name].bodies) != n:
        raise RuntimeError(f"{name}: {drawn} bodies were drawn instead of {n}")


def _report(campaign: Campaign, seconds: float) -> dict[str, object]:
    tallies = campaign.tallies
    sums = ("bodies", "crashes", "unjustified_removals")
    return {
        **{what: sum(getattr(tally, what) for tally in tallies.values()) for what in sums},
        "by_provider": {name: asdict(tally) for name, tally in tallies.items()},
        "seconds": round(seconds, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
