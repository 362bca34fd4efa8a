"""A 2xx makes every member of its call `sent`, also those who were released or settled in the meantime."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row

from core.ledger.message_ids import is_uuid
from core.ledger.rows import move_counters, moving
from core.statements import Asked, Both, run, together

# One statement for each engine. SQLite looks each id up; without the limit it would look through the whole campaign for
# each. PostgreSQL reads the stretch of the campaign in which they all stand: a hundred look-ups take it far longer.
_SENT = (
    """UPDATE delivery_ledger SET status = 'sent', provider_message_id = coalesce(e.value, provider_message_id),
    variables = NULL, verbatim = NULL, reason = NULL, updated_at = :now
    FROM (SELECT :campaign AS campaign, key, value FROM json_each(:told) LIMIT -1) AS e
    WHERE campaign_id = e.campaign AND recipient_id = e.key AND status = :status {and_call}""",
    """UPDATE delivery_ledger SET status = 'sent', {message_id},
    variables = NULL, verbatim = NULL, reason = NULL, updated_at = :now
    WHERE campaign_id = :campaign AND recipient_id BETWEEN :first AND :last AND CAST(:told AS jsonb) ? recipient_id
    AND status = :status {and_call}""",
)
_OURS = "AND call_id = :call"
_AS_UUID = "provider_message_id = NULL, provider_message_uuid = CAST(CAST(:told AS jsonb) ->> recipient_id AS uuid)"
_AS_TEXT = """provider_message_id = coalesce(CAST(:told AS jsonb) ->> recipient_id, provider_message_id),
provider_message_uuid = CASE WHEN CAST(:told AS jsonb) ->> recipient_id IS NULL THEN provider_message_uuid END"""


def _sent_statement(and_call: str, message_id: str) -> Both:
    return _SENT[0].format(and_call=and_call), _SENT[1].format(and_call=and_call, message_id=message_id)


# By whether all message ids are UUIDs.
_RESERVED_SENT = {True: _sent_statement(_OURS, _AS_UUID), False: _sent_statement(_OURS, _AS_TEXT)}
_ANY_SENT = {True: _sent_statement("", _AS_UUID), False: _sent_statement("", _AS_TEXT)}


def accepted(
    connection: Connection, call: Row[Any], ids: Sequence[str], message_ids: Sequence[str], now: int, change: Asked
) -> int:
    """The deliveries `ids` of `call` are sent, under the provider's `message_ids` in their order, whatever they were
    meanwhile; moves the counters for it and makes the `change` of the call itself. Returns how many changed."""
    told = dict.fromkeys(ids) | dict(zip(ids, message_ids, strict=False))
    values = {
        "campaign": call.campaign_id, "call": call.id, "told": json.dumps(told), "now": now, "status": "reserved",
        "first": min(ids, default=""), "last": max(ids, default=""),
    }  # fmt: skip
    uuids = len(message_ids) == len(ids) > 0 and all(map(is_uuid, message_ids))
    all_of_them = {"reserved": -len(ids), "sent": len(ids)}
    done, *_ = together(connection, (_RESERVED_SENT[uuids], values), moving(call.campaign_id, now, all_of_them), change)
    if done.affected == len(ids):
        return len(ids)
    # Some have been released, or settled by the provider's events: the 2xx is true for each of them all the same.
    sent = done.affected
    moved = Counter({"reserved": len(ids) - sent, "sent": sent - len(ids)})
    for status in ("reserved", "pending", "failed", "skipped"):
        late = run(connection, _ANY_SENT[uuids], values | {"status": status}).affected
        moved.update({"sent": late, status: -late})
        sent += late
    run(connection, _ANY_SENT[uuids], values | {"status": "sent"})
    move_counters(connection, call.campaign_id, now, **moved)
    return sent
