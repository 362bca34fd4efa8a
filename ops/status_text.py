"""The state of everything as people and machines read it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from core.overview import Overview, Progress
from core.queue_looks import Look, lanes
from core.topology import Topology
from ops.letter_text import age

SILENT = timedelta(seconds=60)  # a process beats every ten seconds


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything at one moment; `away` says why the broker could not be seen, empty if it could."""

    topology: Topology
    looks: Mapping[str, Look]
    away: str
    overview: Overview
    now: datetime

    @property
    def queues(self) -> list[str]:
        """Every queue there should be, work queue by work queue."""
        return [queue for work in self.topology.work_queues for queue in lanes(work)]


def screen(seen: Seen) -> Iterator[str]:
    """The lines of `mailward status`."""
    for title, lines, otherwise in (
        ("ALERTS", _alerts(seen), "none fires"),
        ("QUEUES", _queues(seen), ""),
        ("CAMPAIGNS", (line for one in seen.overview.campaigns for line in _campaign(one)), "none"),
        ("PROCESSES", _processes(seen), "none has been seen"),
        ("COUNTERS of the last ten minutes", _counters(seen), "nothing was counted"),
    ):
        yield title
        shown = list(lines)
        yield from (f"  {line}" for line in shown or [otherwise])


def document(seen: Seen) -> dict[str, Any]:
    """The document of `mailward status --json`."""
    return {
        "broker": seen.away or "ok",
        "queues": {queue: _look(seen.looks[queue]) for queue in seen.queues if queue in seen.looks},
        "campaigns": [
            {
                "id": one.id, "name": one.name, "state": one.state, "reason": one.reason, "stats": one.stats,
                "in_flight": one.in_flight, "mails_per_second": round(one.rate, 2), "eta_s": one.eta_s,
            }
            for one in seen.overview.campaigns
        ],
        "alerts": [
            {"name": one.name, "subject": one.subject, "since": one.since.isoformat(), "value": one.value}
            for one in seen.overview.alerts
        ],
        "processes": [
            {"process": one.process, "instance": one.instance, "seen_at": one.seen_at.isoformat()}
            for one in seen.overview.processes
        ],
        "counters": [
            {"name": name, "provider": provider, "label": label, "n": n}
            for (name, provider, label), n in sorted(seen.overview.counters.items())
        ],
    }  # fmt: skip


def _look(look: Look) -> dict[str, Any]:
    return {"waiting": look.ready, "consumers": look.consumers, "scanned": look.scanned}


def _alerts(seen: Seen) -> Iterator[str]:
    for one in seen.overview.alerts:
        yield f"{one.name} {one.subject}: {one.value:,.0f}, for {age(one.since, seen.now)}"


def _queues(seen: Seen) -> Iterator[str]:
    if seen.away:
        yield f"the broker cannot be reached: {seen.away}"
        return
    yield f"{'':<40}{'waiting':>9}{'consumers':>11}"
    for queue in seen.queues:
        look = seen.looks.get(queue)
        if look is None:
            yield f"{queue:<40}  missing: run `mailward migrate`"
        else:
            yield f"{queue:<40}{look.ready:>9,}{look.consumers:>11}{'  being scanned' if look.scanned else ''}"


def _campaign(one: Progress) -> Iterator[str]:
    yield f"{one.id}  {one.state}{f' ({one.reason})' if one.reason else ''}  {one.name}"
    yield "  " + ", ".join(f"{name} {n:,}" for name, n in one.stats.items() if n or name in ("total", "sent"))
    if one.state in ("running", "paused"):
        eta = "" if one.eta_s is None else f", done in {timedelta(seconds=round(one.eta_s))}"
        yield f"  {one.rate:,.1f} mails/s over the last minute, {one.in_flight} calls in flight{eta}"


def _processes(seen: Seen) -> Iterator[str]:
    for one in seen.overview.processes:
        silent = "" if seen.now - one.seen_at <= SILENT else "  SILENT"
        yield f"{one.process:<8}{one.instance:<32}  seen {age(one.seen_at, seen.now)} ago{silent}"


def _counters(seen: Seen) -> Iterator[str]:
    for (name, provider, label), n in sorted(seen.overview.counters.items()):
        yield f"{' '.join(part for part in (name, provider, label) if part):<48}{n:>9,}"
