"""Skip whom a cancelled campaign has not mailed, slice by slice: nobody has to wait while millions are written.

The first slice belongs to the cancelling itself; the sweeper does the others, whoever dies in between.
"""

import time

from sqlalchemy import Connection, Engine, select, text

from core import database
from core.ledger.rows import database_now, lock_campaign, move_counters
from core.ledger.tables import campaign

SLICE = 20_000  # deliveries of one transaction: a third of a second

PAUSE_S = 0.1  # between two transactions on SQLite, which is not fair: those who wait for its lock look every 0.1 s

_FIRST = text("""SELECT recipient_id FROM delivery_ledger WHERE campaign_id = :campaign AND status = 'pending'
ORDER BY recipient_id LIMIT 1""")
_CUT = text("""SELECT max(recipient_id) FROM (SELECT recipient_id FROM delivery_ledger
WHERE campaign_id = :campaign AND recipient_id >= :first AND status = 'pending'
ORDER BY recipient_id LIMIT :slice) AS lowest""")
_SKIP = text("""UPDATE delivery_ledger SET status = 'skipped', reason = 'cancelled', updated_at = :now
WHERE campaign_id = :campaign AND recipient_id >= :first AND recipient_id <= :last AND status = 'pending'""")


def skip(connection: Connection, campaign_id: str, first: str = "") -> str | None:
    """Skip the next pending members, from `first` on, of a locked campaign; returns the id of the last, None where
    there was nobody."""
    values = {"campaign": campaign_id, "first": first}
    last: str | None = connection.execute(_CUT, values | {"slice": SLICE}).scalar()
    if last is not None:
        now = database_now(connection)
        skipped = int(connection.execute(_SKIP, values | {"last": last, "now": now}).rowcount)
        move_counters(connection, campaign_id, now, pending=-skipped, skipped=skipped)
    return last


def skip_some(engine: Engine, campaign_id: str, slices: int | None = None) -> int:
    """Skip up to so many `slices` of a cancelled campaign's pending members, or all; returns how many were written."""
    with database.reading(engine) as connection:  # who was skipped before is passed over without a lock
        if campaign_id not in unfinished(connection):
            return 0
        at: str | None = connection.execute(_FIRST, {"campaign": campaign_id}).scalar()
    written = 0
    while at is not None and written != slices:
        if written and engine.dialect.name == "sqlite":
            time.sleep(PAUSE_S)
        with engine.begin() as connection:
            row = lock_campaign(connection, campaign_id)
            if row is None or row.state != "cancelled" or not row.pending:
                break
            at = skip(connection, campaign_id, at)
            written += at is not None
    return written


def unfinished(connection: Connection) -> list[str]:
    """Cancelled campaigns that still have pending members."""
    wanted = (campaign.c.state == "cancelled") & (campaign.c.pending > 0)
    return list(connection.execute(select(campaign.c.id).where(wanted).order_by(campaign.c.id)).scalars())
