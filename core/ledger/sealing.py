"""Seal a call: in one transaction its members, their order, the exact bytes and the key are frozen for good."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import zstandard
from sqlalchemy import Connection, Row

from core.ledger import identity
from core.ledger.blocks import journalled, judged
from core.ledger.identity import Identity
from core.ledger.rows import (
    Member,
    change_call,
    changing,
    lock_and_ask,
    move_counters,
    moving,
    plan_call,
)
from core.ledger.states import Call
from core.statements import Asked, as_json, both, run, together
from core.tables import from_us

_PENDING = """FROM delivery_ledger
WHERE campaign_id = :campaign AND status = 'pending'
AND recipient_id BETWEEN (SELECT first_id FROM send_call WHERE id = :call)
  AND (SELECT last_id FROM send_call WHERE id = :call)
ORDER BY recipient_id LIMIT :batch"""
_CANDIDATES = both(f"SELECT recipient_id, address, verbatim, variables {_PENDING}")
_STILL_PENDING = both(f"SELECT recipient_id {_PENDING}")
# PostgreSQL reads the stretch of the campaign in which the members stand: a hundred look-ups take it far longer.
_RESERVE = (
    """UPDATE delivery_ledger SET status = 'reserved', call_id = :call, updated_at = :now
    WHERE campaign_id = :campaign AND recipient_id IN (SELECT value FROM json_each(:ids)) AND status = 'pending'""",
    """UPDATE delivery_ledger SET status = 'reserved', call_id = :call, updated_at = :now
    WHERE campaign_id = :campaign AND recipient_id BETWEEN :first AND :last AND status = 'pending'
    AND CAST(:ids AS jsonb) ? recipient_id""",
)
# The campaign stands in every element: with one parameter for it SQLite reads the whole campaign for each element.
_SKIP = (
    """UPDATE delivery_ledger SET status = 'skipped', reason = e.value ->> 2, updated_at = :now
    FROM json_each(:skips) AS e
    WHERE campaign_id = e.value ->> 0 AND recipient_id = e.value ->> 1 AND status = 'pending'""",
    """UPDATE delivery_ledger SET status = 'skipped', reason = e.value ->> 2, updated_at = :now
    FROM jsonb_array_elements(CAST(:skips AS jsonb)) AS e (value)
    WHERE campaign_id = e.value ->> 0 AND recipient_id = e.value ->> 1 AND status = 'pending'""",
)


@dataclass(frozen=True, slots=True)
class Fragment:
    """One candidate with its part of the request body, and its present record if Redis has one."""

    member: Member
    body: bytes
    record: bytes | None


@dataclass(frozen=True, slots=True)
class Sealed:
    """A sealed call: what to send under which key, and the identity to write to Redis before sending."""

    call_id: int
    epoch: int
    key: str
    body: bytes
    members: tuple[str, ...]
    identity: Identity


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker brings to seal: the candidates it has looked at, whom it skips and why, and who it is."""

    fragments: Sequence[Fragment]
    skips: Mapping[str, str]  # recipient id → reason
    assemble: Callable[[list[bytes]], bytes]  # the client's: fragments → body
    env: str
    account: str
    owner: str
    lease_us: int


def candidates(connection: Connection, call: Row[Any], batch: int) -> list[Member]:
    """The pending members of a planned call's range, in order."""
    rows = run(connection, _CANDIDATES, {"campaign": call.campaign_id, "call": call.id, "batch": batch}).rows
    return [Member(row.recipient_id, row.address, row.verbatim or row.address, row.variables or "{}") for row in rows]


def seal(connection: Connection, campaign_id: str, call_id: int, request: Request) -> Sealed | None:
    """Freeze a planned call around the candidates that are still pending and not blocked.

    Returns None if there is nothing to send: the campaign does not run, somebody else was first, or nobody is left.
    """
    considered = {one.member.recipient_id for one in request.fragments} | set(request.skips)
    places = {"campaign": campaign_id, "call": call_id, "batch": len(considered) + 1}
    records = {one.member.address: one.record for one in request.fragments}
    locked, (waiting, against) = lock_and_ask(
        connection, campaign_id, call_id, (_STILL_PENDING, places), journalled(records)
    )
    if locked is None or locked.campaign_state != "running" or locked.call.state != Call.PLANNED:
        return None
    call, now = locked.call, locked.now
    pending = {row.recipient_id for row in waiting.rows}
    skips = {rid: reason for rid, reason in request.skips.items() if rid in pending}
    fresh = [one for one in request.fragments if one.member.recipient_id in pending]
    blocks = judged(against.rows, records, from_us(now))
    skips |= {one.member.recipient_id: "removed" for one in fresh if one.member.address in blocks}
    skip(connection, campaign_id, skips, now)
    if pending - considered:  # more members than a call takes: the rest gets a call of its own
        plan_call(connection, campaign_id, min(pending - considered), call.last_id, call.generation, now)
    kept = [one for one in fresh if one.member.recipient_id not in skips]
    if not kept:
        change_call(connection, call_id, now, state=Call.DISCARDED.value)
        return None
    return _freeze(connection, call, kept, request, now)


def skip(connection: Connection, campaign_id: str, skips: Mapping[str, str], now: int) -> None:
    """Skip pending members, each for a reason."""
    if skips:
        rows = as_json([[campaign_id, recipient_id, reason] for recipient_id, reason in skips.items()])
        done = run(connection, _SKIP, {"skips": rows, "now": now})
        move_counters(connection, campaign_id, now, pending=-done.affected, skipped=done.affected)


def _freeze(connection: Connection, call: Row[Any], kept: list[Fragment], request: Request, now: int) -> Sealed:
    ids = [one.member.recipient_id for one in kept]
    body = request.assemble([one.body for one in kept])
    key = f"{request.env}.{call.campaign_id}.{call.id}"

    def sealed() -> Asked:
        values = {
            "state": Call.LEASED.value, "size": len(ids), "idempotency_key": key, "account": request.account,
            "payload": _compressed(body), "payload_sha256": hashlib.sha256(body).digest(),
            "members": _compressed(json.dumps(ids).encode()),
            "lease_owner": request.owner, "lease_epoch": call.lease_epoch + 1, "lease_until": now + request.lease_us,
            "due_at": now + request.lease_us, "publishes": 0,
        }  # fmt: skip
        return changing(call.id, now, values)

    reserved, _, counted, _ = together(
        connection,
        (_RESERVE, {"campaign": call.campaign_id, "call": call.id, "now": now, **_places(ids)}),
        moving(call.campaign_id, now, {"pending": -len(ids), "reserved": len(ids)}),
        identity.COUNT_SEAL,
        sealed,
    )
    if reserved.affected != len(ids):
        raise RuntimeError(f"Bug: reserved {reserved.affected} of {len(ids)} members of call {call.id}")
    counter = identity.counted(connection, counted)
    return Sealed(call.id, call.lease_epoch + 1, key, body, tuple(ids), counter)


def _places(ids: list[str]) -> dict[str, str]:
    return {"ids": as_json(ids), "first": ids[0], "last": ids[-1]}


def _compressed(data: bytes) -> bytes:
    # Level 1: a hundred mails of one template shrink a hundredfold in a quarter of a millisecond.
    return zstandard.ZstdCompressor(level=1).compress(data)


def body_of(payload: bytes, sha256: bytes) -> bytes | None:
    """The request body that a call's payload holds; None if that is not the one that was sealed."""
    try:
        body = zstandard.decompress(payload)
    except zstandard.ZstdError:
        return None
    return body if hashlib.sha256(body).digest() == sha256 else None


def members_of(stored: bytes) -> list[str]:
    """The recipient ids of a sealed call, in order."""
    found: list[str] = json.loads(zstandard.decompress(stored))
    return found
