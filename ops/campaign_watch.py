"""How far a campaign is, again and again: a bar at a terminal, lines elsewhere."""

import sys
import time
from dataclasses import dataclass

import click
from sqlalchemy import Engine

from core import database
from core.ledger import campaigns

WIDTH = 30
SMOOTH = 0.2  # weight of the newest look in the rate


@dataclass(slots=True)
class Pace:
    """Recipients dealt with per second, smoothed over looks."""

    done: int | None = None
    at: float = 0.0
    per_s: float | None = None

    def look(self, done: int, at: float) -> None:
        """Note that `done` recipients were dealt with at `at` (seconds of any clock)."""
        if self.done is not None and at > self.at:
            newest = (done - self.done) / (at - self.at)
            self.per_s = newest if self.per_s is None else SMOOTH * newest + (1 - SMOOTH) * self.per_s
        self.done, self.at = done, at


def line(stats: dict[str, int], pace: Pace) -> str:
    """One look as a line: bar, share, counts, rate, time left."""
    done = stats["sent"] + stats["failed"] + stats["skipped"]
    share = done / stats["total"] if stats["total"] else 1.0
    bar = "#" * int(share * WIDTH)
    counts = ", ".join(f"{stats[name]} {name}" for name in ("failed", "skipped", "unknown") if stats[name])
    rate = "" if pace.per_s is None else f"  {pace.per_s:.0f}/s"
    left = stats["total"] - done
    until = f"  {_span(left / pace.per_s)} left" if pace.per_s and left else ""
    numbers = f"{done}/{stats['total']}{f' ({counts})' if counts else ''}"
    return f"[{bar:-<{WIDTH}}] {share:4.0%}  {numbers}{rate}{until}"


def follow(engine: Engine, campaign_id: str, interval_s: float) -> None:
    """Print looks until the campaign runs no more; raises Refused where there is none."""
    pace, overwrites = Pace(), sys.stdout.isatty()
    while True:
        with database.reading(engine) as connection:
            stats = campaigns.delivery_status(connection, campaign_id)
            row = campaigns.find(connection, campaign_id)
        pace.look(stats["sent"] + stats["failed"] + stats["skipped"], time.monotonic())
        click.echo(f"\r\x1b[K{line(stats, pace)}" if overwrites else line(stats, pace), nl=not overwrites)
        if row.state != "running":
            click.echo("\n" * overwrites + f"{row.state}{f': {row.pause_reason}' if row.pause_reason else ''}")
            return
        time.sleep(interval_s)


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
