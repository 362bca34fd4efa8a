"""Calls that nobody will move any more: the window has passed, or the campaign does not run and the worker is gone.

Each ends where its members' fate is honest: released where nothing was sent, waiting or unknown where something may be.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, text

from core.ledger.attempts import Move, apply, count_unknown
from core.ledger.rows import database_now, lock_call, lock_campaign
from core.ledger.states import Call, Happening

_HELD = "c.state IN ('leased', 'calling', 'retry_wait')"  # literally the condition of the partial index
_FIND = text(f"""SELECT c.campaign_id, c.id FROM send_call AS c JOIN campaign AS m ON m.id = c.campaign_id
WHERE {_HELD} AND (
  (c.first_attempt_at <= :begun AND (c.state = 'retry_wait' OR c.lease_until <= :now))
  OR (m.state <> 'running' AND c.state <> 'retry_wait' AND c.lease_until <= :now)
  OR (m.state = 'cancelled' AND c.state = 'retry_wait')
) ORDER BY c.campaign_id, c.id LIMIT :limit""")  # noqa: S608 - constants
_STEPS = 3  # calling → leased → retry_wait → unknown is the longest way


def overdue(connection: Connection, window_us: int, limit: int) -> Sequence[tuple[str, int]]:
    """Campaign and id of at most `limit` such calls; `window_us` is how long a key may be repeated."""
    now = database_now(connection)
    found = connection.execute(_FIND, {"now": now, "begun": now - window_us, "limit": limit})
    return [(row.campaign_id, row.id) for row in found]


def end(connection: Connection, campaign_id: str, call_id: int, window_us: int) -> list[Move]:
    """Move one such call as far as it goes, in the caller's transaction; empty if somebody was faster."""
    campaign = lock_campaign(connection, campaign_id)
    now = database_now(connection)
    moves: list[Move] = []
    for _ in range(_STEPS):
        call = lock_call(connection, call_id)
        happening = None if campaign is None or call is None else what_ends(campaign.state, call, window_us, now)
        if campaign is None or call is None or happening is None:
            break
        move = apply(connection, campaign.state, call, happening, now)
        if move is None:
            break
        moves.append(move)
        count_unknown(connection, call, move, happening, now)
    return moves


def what_ends(campaign_state: str, call: Row[Any], window_us: int, now: int) -> Happening | None:
    """What has befallen a call of a campaign in this state by now, if nobody else moves it."""
    state = Call(call.state)
    abandoned = state in (Call.LEASED, Call.CALLING) and call.lease_until <= now
    if call.first_attempt_at and now >= call.first_attempt_at + window_us and (abandoned or state is Call.RETRY_WAIT):
        return Happening.WINDOW_PASSED
    if abandoned and campaign_state != "running":
        return Happening.RECLAIMED if state is Call.CALLING else Happening.NOT_RUNNING
    if campaign_state == "cancelled" and state is Call.RETRY_WAIT:
        return Happening.CANCELLED
    return None
