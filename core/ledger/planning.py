"""Cut a campaign's pending members into calls: each call owns a range of recipient ids, so that planning touches no
delivery and sealing reads a hundred neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, text

from core.ledger.campaigns import find
from core.ledger.states import Call
from core.ledger.tables import send_call

BATCH = 100

# Every hundredth pending member, walking the primary key once.
_BOUNDS = text("""
SELECT min(recipient_id) AS first_id, max(recipient_id) AS last_id FROM (
  SELECT recipient_id, (row_number() OVER (ORDER BY recipient_id) - 1) / :batch AS slice
  FROM delivery_ledger WHERE campaign_id = :campaign AND status = 'pending'
) AS numbered GROUP BY slice ORDER BY slice
""")


@dataclass(frozen=True, slots=True)
class Plan:
    """The first and last recipient id of each call, for the members that a campaign had when it last changed."""

    progress_at: int | None
    bounds: Sequence[tuple[str, str]]


def draw(connection: Connection, campaign_id: str, batch: int = BATCH) -> Plan:
    """A plan for all pending members. It takes seconds for millions of them, so draw it without a lock."""
    progress_at = find(connection, campaign_id).progress_at
    found = connection.execute(_BOUNDS, {"campaign": campaign_id, "batch": batch})
    return Plan(progress_at, [(first, last) for first, last in found])


def plan_all(connection: Connection, campaign_id: str, now: int, batch: int = BATCH, drawn: Plan | None = None) -> int:
    """Plan calls over all pending members of a campaign that has no open call; returns how many.

    A plan that was `drawn` before counts unless the campaign has changed since.
    """
    if drawn is None or drawn.progress_at != find(connection, campaign_id).progress_at:
        drawn = draw(connection, campaign_id, batch)
    common = {"campaign_id": campaign_id, "generation": 1, "state": Call.PLANNED.value}
    times = dict.fromkeys(("due_at", "created_at", "updated_at"), now)
    calls = [{**common, **times, "first_id": first, "last_id": last} for first, last in drawn.bounds]
    if calls:
        connection.execute(insert(send_call), calls)
    return len(calls)
