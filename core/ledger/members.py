"""What becomes of a call's deliveries when the call moves: the second half of every transition."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from core.ledger.accepting import accepted
from core.ledger.rows import moving, plan_call
from core.ledger.states import Members
from core.statements import Asked, as_json, run, together

_RELEASE = (
    """UPDATE delivery_ledger SET status = :status, reason = :reason, updated_at = :now
    WHERE campaign_id = :campaign AND call_id = :call AND status = 'reserved'
    AND recipient_id IN (SELECT value FROM json_each(:ids))""",
    """UPDATE delivery_ledger SET status = :status, reason = :reason, updated_at = :now
    WHERE campaign_id = :campaign AND call_id = :call AND status = 'reserved'
    AND recipient_id = ANY(ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS jsonb))))""",
)


_ADDRESSES = (
    "SELECT address FROM delivery_ledger WHERE campaign_id = :campaign"
    " AND recipient_id IN (SELECT value FROM json_each(:ids))",
    "SELECT address FROM delivery_ledger WHERE campaign_id = :campaign"
    " AND recipient_id = ANY(ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS jsonb))))",
)


def addresses(connection: Connection, campaign_id: str, ids: Sequence[str]) -> list[str]:
    """The addresses (normal form) of some deliveries."""
    found = run(connection, _ADDRESSES, {"campaign": campaign_id, "ids": as_json(ids)})
    return [row.address for row in found.rows]


def conclude(
    connection: Connection,
    call: Row[Any],
    fate: Members,
    ids: Sequence[str],
    now: int,
    change: Asked,
    *,
    message_ids: Sequence[str] = (),
    reason: str = "",
    cancelled: bool = False,
    culprits: Sequence[int] = (),
    wait_us: int = 0,
) -> int:
    """Give the deliveries `ids` of `call` their fate, move the campaign's counters for it, and make the `change` of the
    call itself; returns how many deliveries changed.

    `message_ids` are the provider's, in the order of `ids`. Where the campaign is `cancelled`, what would be pending
    again is skipped. `culprits` are the positions of the members that the provider refuses. The call planned for
    pending members is due after `wait_us`.
    """
    if fate is Members.SENT:
        return accepted(connection, call, ids, message_ids, now, change)
    moved = _others(connection, call, fate, ids, now, reason, cancelled, culprits, wait_us)
    together(connection, *([moving(call.campaign_id, now, moved)] if any(moved.values()) else []), change)
    return sum(n for n in moved.values() if n > 0)


def _others(
    connection: Connection,
    call: Row[Any],
    fate: Members,
    ids: Sequence[str],
    now: int,
    reason: str,
    cancelled: bool,
    culprits: Sequence[int],
    wait_us: int,
) -> Counter[str]:
    if fate is Members.SKIP or (cancelled and fate in (Members.PENDING, Members.SPLIT)):
        return _release(connection, call, ids, "skipped", "cancelled", now)
    if fate is Members.PENDING:
        _plan(connection, call, ids, now, now + wait_us)
        return _release(connection, call, ids, "pending", None, now)
    if fate is Members.SPLIT:
        return _split(connection, call, ids, reason, culprits, now)
    return Counter()


def _split(
    connection: Connection, call: Row[Any], ids: Sequence[str], reason: str, culprits: Sequence[int], now: int
) -> Counter[str]:
    """Fail whom the provider named, or the last one standing alone; the others get calls of the next generation."""
    bad = [ids[at] for at in culprits if at < len(ids)] if culprits else list(ids if len(ids) == 1 else ())
    good = [one for one in ids if one not in set(bad)]
    moved = _release(connection, call, bad, "failed", reason, now)
    moved.update(_release(connection, call, good, "pending", None, now))
    half = len(good) if bad else len(good) // 2
    for part in (good[:half], good[half:]):
        _plan(connection, call, part, now, now)
    return moved


def _release(
    connection: Connection, call: Row[Any], ids: Sequence[str], status: str, reason: str | None, now: int
) -> Counter[str]:
    if not ids:
        return Counter()
    values = {"campaign": call.campaign_id, "call": call.id, "ids": as_json(ids), "now": now}
    done = run(connection, _RELEASE, values | {"status": status, "reason": reason}).affected
    return Counter({"reserved": -done, status: done})


def _plan(connection: Connection, call: Row[Any], ids: Sequence[str], now: int, due_at: int) -> None:
    if ids:
        plan_call(connection, call.campaign_id, min(ids), max(ids), call.generation + 1, now, due_at)
