"""How close one worker process comes to what its provider allows: 4 calls at a time, each answered after 150 ms.

The real process, SQLite, 10 KB of HTML for each mail, RabbitMQ and Redis, on the machine that also runs the sandbox.
"""

import time
from pathlib import Path

from bench.ledger_audience import MAIL
from bench.send_system import running
from sender.campaign import OVER

CONCURRENCY, LATENCY_MS, BATCH = 4, 150, 100
MOST = CONCURRENCY * BATCH / (LATENCY_MS / 1000)  # mails a second
SHARE = 0.1  # of the calls, at each end, that are not counted: the start, and the end when not all workers are busy
DEADLINE_S = 300.0


def measure(directory: Path, recipients: int) -> float:
    """Mails sent a second, as a share of MOST."""
    with running(directory, "sqlite", SEND_CONCURRENCY=str(CONCURRENCY)) as system:
        system.sandbox.set(latency_ms=LATENCY_MS, muted=["email.sent", "email.delivered"])
        campaign = system.draft("saturation", recipients, MAIL)
        system.campaigns.start(campaign, "bench")
        system.fleet.start("sends", "clock")
        deadline = time.monotonic() + DEADLINE_S
        while system.state(campaign) not in OVER:
            if time.monotonic() > deadline:
                raise RuntimeError(f"not sent within {DEADLINE_S:.0f} s: {system.status(campaign)}")
            time.sleep(1)
        arrivals = system.sandbox.arrivals()
    skipped = round(len(arrivals) * SHARE)
    first, *counted = arrivals[skipped:-skipped]
    mails = sum(one["mails"] for one in counted)
    return float(mails / (counted[-1]["time"] - first["time"]) / MOST)
