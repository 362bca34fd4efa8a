"""The audience of a campaign that has not begun: whatever adds to it or takes from it holds the campaign's lock."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Engine, TextClause, text, update

from core.ledger.campaigns import Refused
from core.ledger.rows import database_now, lock_campaign
from core.ledger.tables import campaign

# Recipient id, address in normal form, the address as written (empty where that is the same), merge fields (JSON text).
Entry = tuple[str, str, str, str]

SLICE = 50_000  # rows of one transaction: about half a second

_CUT = text("""SELECT max(recipient_id) FROM (SELECT recipient_id FROM delivery_ledger
WHERE campaign_id = :campaign ORDER BY recipient_id LIMIT :slice) AS lowest""")
_DELETE = text("DELETE FROM delivery_ledger WHERE campaign_id = :campaign AND recipient_id <= :last")


def require(connection: Connection, campaign_id: str) -> int:
    """Lock the campaign until the transaction ends; returns how many it has. Raises Refused unless it is a draft."""
    row = lock_campaign(connection, campaign_id)
    if row is None:
        raise Refused("no_such_campaign", f"there is no campaign {campaign_id}")
    if row.state != "draft":
        raise Refused("not_a_draft", f"campaign {campaign_id} is {row.state}: its audience is final")
    return int(row.total)


def add(connection: Connection, campaign_id: str, insert: TextClause, **values: Any) -> int:
    """Run `insert`, which adds pending deliveries, and count what it really added. Returns that; raises Refused.

    `insert` may use :campaign, :now, and `values`.
    """

    def run(now: int) -> int:
        return int(connection.execute(insert, {"campaign": campaign_id, "now": now, **values}).rowcount)

    return add_by(connection, campaign_id, run)


def add_by(connection: Connection, campaign_id: str, insert: Callable[[int], int]) -> int:
    """Count what `insert` adds, which is told the time and returns how many they are. Returns that; raises Refused."""
    require(connection, campaign_id)
    now = database_now(connection)
    added = insert(now)
    _count(connection, campaign_id, added, now)
    return added


def clear(engine: Engine, campaign_id: str) -> int:
    """Take everybody out again, slice by slice; returns how many. Raises Refused."""
    removed = 0
    while True:
        with engine.begin() as connection:
            require(connection, campaign_id)
            last = connection.execute(_CUT, {"campaign": campaign_id, "slice": SLICE}).scalar()
            if last is None:
                return removed
            taken = int(connection.execute(_DELETE, {"campaign": campaign_id, "last": last}).rowcount)
            _count(connection, campaign_id, -taken, database_now(connection))
            removed += taken


def _count(connection: Connection, campaign_id: str, by: int, now: int) -> None:
    if by:
        raised = {"total": campaign.c.total + by, "pending": campaign.c.pending + by, "progress_at": now}
        connection.execute(update(campaign).where(campaign.c.id == campaign_id).values(raised))
