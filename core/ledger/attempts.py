"""The life of a sealed call around its attempts: taken again, begun, settled.

Each function is one short transaction of the caller's; none spans a network call. Locks: the campaign, then the call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from core import counts
from core.ledger.blocks import journalled, judged
from core.ledger.identity import own
from core.ledger.members import conclude
from core.ledger.rows import SECOND, change_call, changing, lock, lock_and_ask, payload_of
from core.ledger.sealing import Sealed, body_of, members_of
from core.ledger.states import Call, Happening, step
from core.statements import as_json, both, finish, run
from core.tables import from_us
from core.telemetry import Series

# Nobody but its members is reserved by a call, so the range they stand in says it as well as their hundred ids.
_INTACT = both("""SELECT count(*) AS n FROM delivery_ledger
WHERE campaign_id = :campaign AND recipient_id BETWEEN :first AND :last AND call_id = :call AND status = 'reserved'""")
_ELSEWHERE = (
    """SELECT count(*) AS n FROM delivery_ledger AS d JOIN send_call AS c ON c.id = d.call_id
    WHERE d.campaign_id = :campaign AND d.call_id <> :call AND c.attempts > 0
    AND d.recipient_id IN (SELECT value FROM json_each(:ids))""",
    """SELECT count(*) AS n FROM delivery_ledger AS d JOIN send_call AS c ON c.id = d.call_id
    WHERE d.campaign_id = :campaign AND d.call_id <> :call AND c.attempts > 0
    AND d.recipient_id = ANY(ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS jsonb))))""",
)
TOO_MANY = 429  # HTTP status
RETRY_FIRST_S, RETRY_LAST_S = 5, 600  # pauses between attempts under one key, doubling


@dataclass(frozen=True, slots=True)
class Claim:
    """Who takes a call, for which provider account, for how long, and how long that provider remembers a key."""

    owner: str
    account: str
    lease_us: int
    window_us: int  # already shortened by a margin


@dataclass(frozen=True, slots=True)
class Move:
    """What a transition did: the state it left and reached, deliveries changed, and whether it reveals a duplicate."""

    before: Call
    after: Call
    changed: int = 0
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an attempt, as the ledger needs it (sender.clients.base.Answer, without the wire)."""

    happening: Happening
    message_ids: Sequence[str] = ()
    culprits: Sequence[int] = ()
    http_status: int = 0
    error: str = ""
    retry_after_s: float = 0.0
    pause: str = ""


def reclaim(connection: Connection, campaign_id: str, call_id: int, claim: Claim) -> Sealed | Move | None:
    """Take a call that is due again or whose lease ran out, with the same bytes and key; None if it cannot be had, and
    its move where the same request can never be made again."""
    locked = lock(connection, campaign_id, call_id)
    if locked is None or not _due(locked.call, locked.now):
        return None
    campaign_state, call, now = locked
    if call.tainted and campaign_state != "running":
        return None  # it waits for `resume`, for its window to pass, or for an operator
    obstacle = _obstacle(call, claim, now)
    if obstacle is not None:
        return _end(connection, campaign_state, call, obstacle, now)
    body = body_of(payload_of(connection, call_id), call.payload_sha256)
    if body is None:
        return _end(connection, campaign_state, call, Happening.BYTES_CHANGED, now)
    taken = step(Call(call.state), Happening.RECLAIMED, call.tainted)
    if taken is None:
        return None
    change_call(
        connection, call_id, now,
        state=taken.state.value, tainted=call.tainted or taken.taints, lease_owner=claim.owner,
        lease_epoch=call.lease_epoch + 1, lease_until=now + claim.lease_us, due_at=now + claim.lease_us, publishes=0,
    )  # fmt: skip
    members = tuple(members_of(call.members))
    return Sealed(call_id, call.lease_epoch + 1, call.idempotency_key, body, members, own(connection))


def _end(connection: Connection, campaign_state: str, call: Row[Any], why: Happening, now: int) -> Move | None:
    """Let go of a call that cannot be repeated, and say why beside what had happened to it before."""
    result = Result(why, error=f"{why.value}, after {call.error}" if call.error else why.value)
    move = apply(connection, campaign_state, call, why, now, result=result)
    if move is not None:
        count_unknown(connection, call, move, why, now)
    return move


def count_unknown(connection: Connection, call: Row[Any], move: Move, why: Happening, now: int) -> None:
    """Count the members of a call that no answer of the provider's has made unknown, if it is that."""
    if move.after is Call.UNKNOWN:
        counts.add(connection, {(Series.UNKNOWN.value, "", why.value): call.size}, from_us(now))


def begin(
    connection: Connection, sealed: Sealed, campaign_id: str, records: Mapping[str, bytes | None], lease_us: int
) -> Move | None:
    """The last check, then the mark that an attempt begins, committed; only after a move to `calling` may bytes leave.

    `records` are the members' addresses with their present records. None if the lease is no longer ours.
    """
    values = {
        "campaign": campaign_id, "call": sealed.call_id, "first": min(sealed.members), "last": max(sealed.members)
    }  # fmt: skip
    locked, (intact, against) = lock_and_ask(
        connection, campaign_id, sealed.call_id, (_INTACT, values), journalled(records)
    )
    if locked is None or locked.call.lease_epoch != sealed.epoch or locked.call.state != Call.LEASED:
        return None
    campaign_state, call, now = locked
    if campaign_state != "running":
        return apply(connection, campaign_state, call, Happening.NOT_RUNNING, now)
    sendable = intact.rows[0].n == len(sealed.members) and not judged(against.rows, records, from_us(now))
    if not call.tainted and not sendable:
        return apply(connection, campaign_state, call, Happening.BLOCKED, now)
    calling = {
        "state": Call.CALLING.value, "attempts": call.attempts + 1, "lease_until": now + lease_us,
        "due_at": now + lease_us, "first_attempt_at": call.first_attempt_at or now,
    }  # fmt: skip
    finish(connection, changing(call.id, now, calling))
    return Move(Call.LEASED, Call.CALLING)


def settle(connection: Connection, campaign_id: str, call_id: int, epoch: int, result: Result) -> Move | None:
    """Record what came of an attempt; None where nothing follows (too late, or a repeat)."""
    locked = lock(connection, campaign_id, call_id)
    if locked is None:
        return None
    campaign_state, call, now = locked
    return apply(connection, campaign_state, call, result.happening, now, epoch=epoch, result=result)


def apply(
    connection: Connection,
    campaign_state: str,
    call: Row[Any],
    happening: Happening,
    now: int,
    *,
    epoch: int | None = None,
    result: Result | None = None,
) -> Move | None:
    """Let `happening` befall a locked call: the state table decides, this makes it so. The only writer of call states
    besides sealing."""
    following = step(Call(call.state), happening, call.tainted)
    if following is None or (following.needs_epoch and epoch is not None and epoch != call.lease_epoch):
        return None
    ids = members_of(call.members) if call.members else []
    twice = following.duplicate and _called_again(connection, call, ids)
    change = changing(call.id, now, _values(call, following.state, following.taints, result, now))
    changed = conclude(
        connection, call, following.members, ids, now, change,
        message_ids=result.message_ids if result else (),
        culprits=result.culprits if result else (),
        reason=(result.error if result else "") or happening.value,
        cancelled=campaign_state == "cancelled",
        wait_us=_wait_us(call, happening, result),
    )  # fmt: skip
    return Move(Call(call.state), following.state, changed, twice)


def _called_again(connection: Connection, call: Row[Any], ids: Sequence[str]) -> bool:
    """Whether another call has begun for any of the members: only then may somebody have been mailed twice."""
    values = {"campaign": call.campaign_id, "call": call.id, "ids": as_json(ids)}
    return bool(run(connection, _ELSEWHERE, values).rows[0].n)


def _wait_us(call: Row[Any], happening: Happening, result: Result | None) -> int:
    """How long members that go back to pending wait: a provider that is away or says "later" is not hammered."""
    if happening is not Happening.NOT_SENT:
        return 0
    backoff_s = min(2 ** min(call.generation, 10), RETRY_LAST_S)
    return int(max(result.retry_after_s if result else 0, backoff_s) * SECOND)


def _values(call: Row[Any], state: Call, taints: bool, result: Result | None, now: int) -> dict[str, Any]:
    values: dict[str, Any] = {
        "state": state.value,
        "tainted": call.tainted or taints,
        "publishes": 0,
        "lease_owner": None,
    }
    if result is not None:
        values |= {"http_status": result.http_status or None, "error": result.error[:200] or None}
    if state is Call.RETRY_WAIT:
        # "Too many" is about the account and says itself how long: a call must not wait longer for having met it often.
        doublings = 0 if result is not None and result.http_status == TOO_MANY else min(call.attempts, 10)
        backoff_s = min(RETRY_FIRST_S * 2**doublings, RETRY_LAST_S)
        values["due_at"] = now + int(max(backoff_s, result.retry_after_s if result else 0) * SECOND)
    if state is Call.ACCEPTED:
        values |= {"payload": None, "members": None}
    elif state in (Call.DISCARDED, Call.REJECTED, Call.CANCELLED):
        values["payload"] = None  # the members stay: a late 2xx would be true for them
    return values


def _obstacle(call: Row[Any], claim: Claim, now: int) -> Happening | None:
    """Why the same bytes under the same key would no longer be the same request."""
    if call.first_attempt_at and now >= call.first_attempt_at + claim.window_us:
        return Happening.WINDOW_PASSED
    return Happening.ACCOUNT_CHANGED if call.account != claim.account else None


def _due(call: Row[Any], now: int) -> bool:
    if call.state == Call.RETRY_WAIT:
        return bool(call.due_at <= now)
    return call.state in (Call.LEASED, Call.CALLING) and (call.lease_until or 0) <= now
