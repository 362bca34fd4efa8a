"""Which calls need a message: planned ones, waiting ones whose time has come, and those whose worker is gone.

A message is only a hint. It may be lost, so one that nothing came of is published again, later and later.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, text, update

from core.ledger.rows import SECOND, database_now
from core.ledger.tables import campaign, send_call

AHEAD = 200  # messages of a campaign that nothing has come of yet: enough for the workers, little to be repeated
FIRST_S, LAST_S = 5.0, 600.0  # before a message is published again, doubling
BEHIND_S = 0.5  # and for each message it may be queued behind: what a call takes at the slowest usual rate, 2 a second
_DOUBLINGS = 8

# Literally the condition of the partial index, without which SQLite does not use it.
OPEN = "c.state IN ('planned', 'leased', 'calling', 'retry_wait')"
# The message id is that of core.batch_message. Only open dead letters have open rows.
_BURIED = """EXISTS (SELECT 1 FROM dead_letter_log AS l WHERE l.queue = :queue
AND l.message_id = 'batch:' || c.campaign_id || '.' || c.id AND l.closed_at IS NULL)"""
_PUBLISHED = f"c.campaign_id = :campaign AND {OPEN} AND c.publishes > 0 AND NOT {_BURIED}"
_QUEUED = text(f"SELECT count(*) FROM send_call AS c WHERE {_PUBLISHED}")  # noqa: S608 - constants
_WAITS = " ".join(f"WHEN {n + 1} THEN CAST(:wait_{n} AS bigint)" for n in range(_DOUBLINGS - 1))
_LOST = text(f"""SELECT c.id FROM send_call AS c WHERE {_PUBLISHED} AND c.due_at <= :now AND c.published_at
+ CASE c.publishes {_WAITS} ELSE CAST(:wait_{_DOUBLINGS - 1} AS bigint) END <= :now
ORDER BY c.id LIMIT :most""")  # noqa: S608 - constants
_NEW = text(f"""SELECT c.id FROM send_call AS c WHERE c.campaign_id = :campaign AND {OPEN} AND c.publishes = 0
AND c.due_at <= :now AND NOT {_BURIED} ORDER BY c.due_at, c.id LIMIT :room""")  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class Due:
    """A call that needs a message."""

    campaign_id: str
    call_id: int


def due(connection: Connection, queue: str, limit: int, only: str = "") -> list[Due]:
    """Calls of running campaigns that need a message now: at most `limit`, shared by the campaigns.

    `queue` is the work queue whose open dead letters keep their calls back; `only` names the one campaign to look at.
    """
    running = select(campaign.c.id).where(campaign.c.state == "running").order_by(campaign.c.id)
    ids = [one for one in connection.execute(running).scalars() if only in ("", one)]
    if not ids:
        return []
    now = database_now(connection)
    queued = {one: _queued(connection, one, queue) for one in ids}
    waits = _waits(sum(queued.values()))
    found = []
    for one in ids:
        values = {"campaign": one, "queue": queue, "now": now, "most": max(limit // len(ids), 1), **waits}
        lost = list(connection.execute(_LOST, values).scalars())
        room = min(AHEAD - queued[one], values["most"] - len(lost))
        new = connection.execute(_NEW, values | {"room": max(room, 0)}).scalars()
        found += [Due(one, call_id) for call_id in (*lost, *new)]
    return found[:limit]


def mark_published(connection: Connection, calls: Sequence[Due]) -> None:
    """Note that a message about each of `calls` was confirmed; those that a worker holds right now need no note."""
    wanted = select(send_call.c.id).where(send_call.c.id.in_([one.call_id for one in calls]))
    free = list(connection.execute(wanted.order_by(send_call.c.id).with_for_update(skip_locked=True)).scalars())
    values = {"published_at": database_now(connection), "publishes": send_call.c.publishes + 1}
    connection.execute(update(send_call).where(send_call.c.id.in_(free)).values(values))


def _queued(connection: Connection, campaign_id: str, queue: str) -> int:
    return int(connection.execute(_QUEUED, {"campaign": campaign_id, "queue": queue}).scalar_one())


def _waits(behind: int) -> dict[str, int]:
    """How long a message is waited for after it was published once, twice … in microseconds."""
    first_s = FIRST_S + BEHIND_S * behind
    return {f"wait_{n}": int(min(first_s * 2**n, LAST_S) * SECOND) for n in range(_DOUBLINGS)}
