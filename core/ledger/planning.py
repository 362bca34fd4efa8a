"""Cut a campaign's pending members into calls: each call owns a range of recipient ids, so that planning touches no
delivery and sealing reads a hundred neighbours."""

from sqlalchemy import Connection, text

from core.ledger.rows import plan_call

BATCH = 100

# Every hundredth pending member, walking the primary key once.
_BOUNDS = text("""
SELECT min(recipient_id) AS first_id, max(recipient_id) AS last_id FROM (
  SELECT recipient_id, (row_number() OVER (ORDER BY recipient_id) - 1) / :batch AS slice
  FROM delivery_ledger WHERE campaign_id = :campaign AND status = 'pending'
) AS numbered GROUP BY slice ORDER BY slice
""")


def plan_all(connection: Connection, campaign_id: str, now: int, batch: int = BATCH) -> int:
    """Plan calls over all pending members of a campaign that has no open call; returns how many."""
    bounds = connection.execute(_BOUNDS, {"campaign": campaign_id, "batch": batch}).all()
    for first, last in bounds:
        plan_call(connection, campaign_id, first, last, 1, now)
    return len(bounds)
