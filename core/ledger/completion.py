"""When a campaign is over, and whether everything adds up; and which campaigns do not come on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, select, text, update

from core.ledger.campaigns import STATUSES
from core.ledger.due import OPEN
from core.ledger.rows import database_now, lock_campaign, open_calls
from core.ledger.tables import campaign

# Over, but changed since: an unknown call was proven, or an operator wants somebody mailed after all.
_CANDIDATES = text(f"""SELECT m.* FROM campaign AS m WHERE
(m.state = 'running' AND m.pending = 0 AND NOT EXISTS (
  SELECT 1 FROM send_call AS c WHERE c.campaign_id = m.id AND {OPEN}))
OR (m.state IN ('completed', 'completed_with_issues') AND m.progress_at > m.finished_at)
ORDER BY m.id""")  # noqa: S608 - constants
_COUNT = text("SELECT status, count(*) FROM delivery_ledger WHERE campaign_id = :campaign GROUP BY status")
_STALLED = text("""SELECT id, name, CASE WHEN progress_at > started_at THEN progress_at ELSE started_at END AS since
FROM campaign WHERE state = 'running' AND started_at <= :before AND coalesce(progress_at, 0) <= :before ORDER BY id""")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a campaign is to be, and whether its counters agree with its deliveries."""

    campaign_id: str
    state: str
    adds_up: bool


@dataclass(frozen=True, slots=True)
class Stalled:
    """A running campaign of which no delivery has changed; `since` in microseconds."""

    campaign_id: str
    name: str
    since: int


def candidates(connection: Connection) -> Sequence[Row[Any]]:
    """Campaigns of which nothing is left to do, and those that changed after they were over."""
    return connection.execute(_CANDIDATES).all()


def judged(connection: Connection, row: Row[Any]) -> Verdict:
    """Count a candidate's deliveries, really, and say what it is. Reads a row for each: take no lock for it."""
    counted: dict[str, int] = {status: n for status, n in connection.execute(_COUNT, {"campaign": row.id})}
    adds_up = all(counted.get(status, 0) == getattr(row, status) for status in STATUSES)
    if row.pending:
        return Verdict(row.id, "running", adds_up)
    clean = adds_up and not row.reserved and not row.failed
    return Verdict(row.id, "completed" if clean else "completed_with_issues", adds_up)


def conclude(connection: Connection, seen: Row[Any], verdict: Verdict) -> bool:
    """Make the verdict so, unless the campaign has moved since it was `seen`; says whether it was."""
    row = lock_campaign(connection, seen.id)
    if row is None or _moved(row, seen) or (verdict.state != "running" and open_calls(connection, seen.id)):
        return False
    now = database_now(connection)
    values = {"state": verdict.state, "finished_at": None if verdict.state == "running" else now}
    connection.execute(update(campaign).where(campaign.c.id == seen.id).values(values))
    return True


def stalled(connection: Connection, for_us: int) -> list[Stalled]:
    """Running campaigns without progress for `for_us` microseconds."""
    before = database_now(connection) - for_us
    return [Stalled(row.id, row.name, row.since) for row in connection.execute(_STALLED, {"before": before})]


def unplanned(connection: Connection) -> list[str]:
    """Running campaigns with pending members and no open call: nobody would ever mail these members."""
    running = select(campaign.c.id).where(campaign.c.state == "running", campaign.c.pending > 0)
    return [one for one in connection.execute(running).scalars().all() if not open_calls(connection, one)]


def _moved(row: Row[Any], seen: Row[Any]) -> bool:
    return any(getattr(row, name) != getattr(seen, name) for name in ("state", *STATUSES))
