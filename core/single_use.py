"""Proofs that are good for one event only: the first event that shows one owns it, any other is not believed.

Some signatures cover no event (Mailgun's), so whoever has seen one post could put anything beside its proof. An event
is the same only if all that it could remove or settle is the same: its id is as easily copied as the proof.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, delete

from core.errors import Permanent
from core.events import Event
from core.statements import as_json, run
from core.tables import proof_token, to_us

REMEMBERED = timedelta(days=30)  # far longer than any provider's proof stays fresh

# One statement: what another consumer writes at the same time is waited for and then read. A row that was there is
# returned as it is, except that it remembers a first clash, so that the dead letter of the clash fails whenever it is
# replayed.
_CLAIM = """INSERT INTO proof_token (token, event_id, content, first_seen)
SELECT e.value ->> 0, e.value ->> 1, e.value ->> 2, :now FROM {rows} {unambiguous}
ON CONFLICT (token) DO UPDATE SET reused_at = CASE WHEN proof_token.content = excluded.content
  THEN proof_token.reused_at ELSE COALESCE(proof_token.reused_at, excluded.first_seen) END
RETURNING token, event_id, content"""
_CLAIMS = (
    _CLAIM.format(rows="json_each(:rows) AS e", unambiguous="WHERE true"),  # else SQLite reads ON as that of a join
    _CLAIM.format(rows="jsonb_array_elements(CAST(:rows AS jsonb)) AS e (value)", unambiguous=""),
)


class Claim(NamedTuple):
    """That an event which says `content` shows the proof `token`."""

    token: str
    event_id: str
    content: str


def claim(engine: Engine, events: Iterable[Event], now: datetime) -> None:
    """Note in a transaction of its own which of `events` show which proofs, in their order.

    Raises Permanent if one of them shows the proof of another, and the claims of the others stand. Without a proof
    among the events there is no SQL.
    """
    claims = [claim_of(event) for event in events if event.single_use]
    if not claims:
        return
    with engine.begin() as connection:
        owners = _owners(connection, firsts(claims), now)
    clash = next((one for one in claims if owners[one.token].content != one.content), None)
    if clash is not None:
        raise Permanent(
            "reused_proof",
            f"{clash.event_id} shows a proof that {owners[clash.token].event_id} used up: somebody who has seen that"
            " post may have made this one. Nothing was removed or settled.",
        )


def claim_of(event: Event) -> Claim:
    """What `event` claims by showing its proof."""
    said = (
        event.event_id, event.kind.value, event.recipient, event.recipient_verbatim, event.provider_message_id,
        event.campaign_id, event.recipient_id, event.environment,
    )  # fmt: skip
    return Claim(event.single_use, event.event_id, hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32])


def firsts(claims: Iterable[Claim]) -> dict[str, Claim]:
    """The first claim of each proof."""
    found: dict[str, Claim] = {}
    for one in claims:
        found.setdefault(one.token, one)
    return found


def forget_old(connection: Connection, now: datetime) -> None:
    """Drop what was first seen too long ago to be shown again, but not where there was a clash."""
    too_old = proof_token.c.first_seen < to_us(now - REMEMBERED)
    connection.execute(delete(proof_token).where(too_old, proof_token.c.reused_at.is_(None)))


def _owners(connection: Connection, claims: Mapping[str, Claim], now: datetime) -> dict[str, Claim]:
    """Who owns each proof, now that `claims` are made."""
    rows: Sequence[Claim] = [claims[token] for token in sorted(claims)]  # two consumers take their locks in one order
    found: Iterable[Any] = run(connection, _CLAIMS, {"rows": as_json(rows), "now": to_us(now)}).rows
    return {token: Claim(token, event_id, content) for token, event_id, content in found}
