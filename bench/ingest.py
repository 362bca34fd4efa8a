"""`make bench-ingest`: how many signed webhooks a second are verified and confirmed by the broker, beside peers.

The product and its peers take turns for BENCH_ROUNDS rounds (5) of BENCH_SECONDS (4) each: two workers, 32
connections, distinct events, quorum queues, emptied between runs. `verify` is the limit: it checks the signature and
publishes nothing. Beside that, 1,000 events of SendGrid in one body are posted to the product, and what proof and
normal form of an event cost is measured for each provider (bench.provider_costs). The last line is one JSON object of
medians. Arguments name contenders, if not all shall run.
"""

import json
import os
import shutil
import statistics
import sys
import time
import uuid
from collections import defaultdict
from pathlib import Path

import requests

from bench import http_load, provider_costs, provider_posts
from bench.environment import ROOT
from bench.http_load import Measured
from bench.ingest_servers import CONTENDERS, SECRET, prepare, purge, sendgrid, serving
from core import clock
from dev.services import RabbitMQ
from providers.standard_webhooks import SVIX, StandardWebhooks

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
WARM_UP_S = 1.0
DISTINCT = 40_000  # signed once per round: signatures are fresh for five minutes
BATCH_SIZE = provider_posts.BATCHES["sendgrid"]
BATCHES = 5  # in each round


def main(names: list[str]) -> None:
    """Run the rounds, print every figure as it comes, and the medians as the last line."""
    costs_us = provider_costs.provider_us(provider_costs.measure(ROUNDS))
    directory = ROOT / ".mailward" / f"bench-ingest-{os.getpid()}"
    directory.mkdir(parents=True)
    runs: dict[str, list[Measured]] = defaultdict(list)
    batches_s: list[float] = []
    try:
        with RabbitMQ(directory / "rabbitmq") as broker:
            prepare(broker.url)
            print(f"load by {http_load.generator()}", flush=True)
            for number in range(1, ROUNDS + 1):
                signed = _sign(directory / "signed")
                for name in names:
                    runs[name].append(_measure(name, broker.url, directory, signed))
                    _print(number, name, runs[name][-1])
                batches_s.append(_batch(broker.url, directory))
                print(f"round {number}  {BATCH_SIZE} events of SendGrid in one body: {batches_s[-1]:.3f} s", flush=True)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(json.dumps(_report(runs, batches_s, costs_us)))


def _measure(name: str, amqp_url: str, directory: Path, signed: Path) -> Measured:
    contender = CONTENDERS[name]
    with serving(contender, amqp_url, directory) as port:
        http_load.run(port, contender.path, signed, WARM_UP_S)
        purge(amqp_url, contender.queue)
        measured = http_load.run(port, contender.path, signed, SECONDS)
    arrived = purge(amqp_url, contender.queue)
    if measured.failures:
        raise RuntimeError(f"{name}: {measured.failures} requests failed")
    if name != "verify" and arrived < measured.requests:
        raise RuntimeError(f"{name}: {measured.requests} answered 2xx, but only {arrived} in the queue")
    return measured


def _batch(amqp_url: str, directory: Path) -> float:
    """Seconds from posting a body of BATCH_SIZE events as SendGrid does to its 200; the median of BATCHES."""
    contender, provider, took_s = sendgrid(), provider_posts.made()["sendgrid"], []
    with serving(contender, amqp_url, directory) as port, requests.Session() as session:
        for number in range(BATCHES):
            post = provider_posts.hard_bounces(provider, clock.utc_now(), start=number * BATCH_SIZE)
            url = f"http://127.0.0.1:{port}{contender.path}"
            started = time.monotonic()
            answer = session.post(url, data=post.body, headers=dict(post.headers), timeout=30)
            took_s.append(time.monotonic() - started)
            if answer.json() != {"queued": BATCH_SIZE, "parked": 0, "counted": 0}:
                raise RuntimeError(f"the batch was answered {answer.status_code} {answer.text}")
    if (arrived := purge(amqp_url, contender.queue)) < BATCHES * BATCH_SIZE:
        raise RuntimeError(f"{BATCHES * BATCH_SIZE} events were answered 200, but only {arrived} are in the queue")
    return statistics.median(took_s)


def _sign(path: Path) -> Path:
    """Write DISTINCT signed complaints as Resend posts them: id, timestamp, signature, body; tabs between."""
    scheme, now = StandardWebhooks((SECRET,), 300), clock.utc_now()
    with path.open("w") as out:
        for number in range(DISTINCT):
            data = {
                "email_id": f"56761188-7520-42d8-8898-{number:012d}",
                "to": [f"user{number}@example.com"],
                "from": "Acme <news@example.org>",
                "subject": "Hello",
            }
            event = {"type": "email.complained", "created_at": "2026-11-22T23:41:12.126Z", "data": data}
            body = json.dumps(event, separators=(",", ":"))
            headers = scheme.sign(body.encode(), f"msg_{uuid.uuid4().hex}", now, SVIX).headers
            proof = [headers[f"{SVIX}-{part}"] for part in ("id", "timestamp", "signature")]
            out.write("\t".join([*proof, body]) + "\n")
    return path


def _print(number: int, name: str, measured: Measured) -> None:
    print(f"round {number}  {name:18s} {measured.rate:7,.0f} requests/s  p99 {measured.p99_ms:6.1f} ms", flush=True)


def _report(runs: dict[str, list[Measured]], batches_s: list[float], costs_us: dict[str, float]) -> dict[str, object]:
    rates = {name: statistics.median(one.rate for one in measured) for name, measured in runs.items()}
    own = rates.get("mailward", 0.0)
    return {
        "requests_per_s": {name: round(rate) for name, rate in rates.items()},
        "ratio": {name: round(own / rate, 2) for name, rate in rates.items() if name != "mailward"},
        "p99_ms": round(statistics.median(one.p99_ms for one in runs["mailward"]), 1) if "mailward" in runs else None,
        "batch_1000_s": round(statistics.median(batches_s), 3),
        "provider_us": costs_us,
    }


if __name__ == "__main__":
    main(sys.argv[1:] or list(CONTENDERS))
