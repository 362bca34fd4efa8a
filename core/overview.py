"""The state of everything in SQL that an operator looks at: campaigns, alerts, processes, counters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, select, text

from core import alert_states, counts, heartbeats
from core.heartbeats import Beat
from core.ledger.campaigns import delivery_status, in_flight
from core.ledger.tables import campaign
from core.tables import to_us

RATE_OVER = timedelta(minutes=1)
RECENT = timedelta(minutes=10)
FINISHED_SHOWN = 5  # campaigns that are over, newest first; the running ones are shown all
_OVER = ("completed", "completed_with_issues", "cancelled")
# A call's members are settled when it is; calls are looked at through their campaign, newest first.
_SENT_SINCE = text("""SELECT coalesce(sum(size), 0) FROM send_call
WHERE campaign_id = :campaign AND state = 'accepted' AND updated_at > :since""")


@dataclass(frozen=True, slots=True)
class Progress:
    """One campaign: its counts as in `delivery-status`, calls in flight, mails a second over the last minute, and
    seconds until nothing remains at that rate (None: it does not move, or is over)."""

    id: str
    name: str
    state: str
    reason: str
    stats: dict[str, int]
    in_flight: int
    rate: float
    eta_s: float | None


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert that fires."""

    name: str
    subject: str
    since: datetime
    value: float


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything at one moment."""

    campaigns: Sequence[Progress]
    alerts: Sequence[Firing]
    processes: Sequence[Beat]
    counters: dict[tuple[str, str, str], int]  # over the last ten minutes


def overview(connection: Connection, now: datetime) -> Overview:
    """Read it all, in one consistent look."""
    fires = [
        Firing(name, subject, known.state.since, known.value)
        for (name, subject), known in alert_states.read(connection).items()
        if known.state.since is not None
    ]
    campaigns = [_progress(connection, row, now) for row in _shown(connection)]
    return Overview(campaigns, fires, heartbeats.beats(connection), counts.totals(connection, now - RECENT))


def _shown(connection: Connection) -> list[Row[Any]]:
    over = campaign.c.state.in_(_OVER)
    active = connection.execute(select(campaign).where(~over).order_by(campaign.c.created_at.desc()))
    finished = select(campaign).where(over).order_by(campaign.c.finished_at.desc()).limit(FINISHED_SHOWN)
    return [*active, *connection.execute(finished)]


def _progress(connection: Connection, row: Row[Any], now: datetime) -> Progress:
    stats = delivery_status(connection, row.id)
    rate = 0.0
    if row.state in ("running", "paused"):
        values = {"campaign": row.id, "since": to_us(now - RATE_OVER)}
        rate = connection.execute(_SENT_SINCE, values).scalar_one() / RATE_OVER.total_seconds()
    moves = rate > 0 and row.state == "running"
    eta_s = stats["remaining"] / rate if moves else None
    calls = len(in_flight(connection, row.id))
    return Progress(row.id, row.name, row.state, row.pause_reason, stats, calls, rate, eta_s)
