"""What the provider's events prove about deliveries: that it took a mail over, and what became of it since.

A tagged event is proof of acceptance whatever it says, a refusal included: the provider names our mail, so it has it.
It may come before our own response is stored, after a time-out, or for a delivery that was given up.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, select

from core.events import Event, Kind
from core.ledger import message_ids, tags
from core.ledger.attempts import apply
from core.ledger.rows import database_now, lock_call, move_counters
from core.ledger.states import Happening
from core.ledger.tables import campaign
from core.statements import as_json, run
from core.telemetry import Series

# The later word of a provider only ever rises, so that events may come in any order and repeat. What says more about
# the reader is higher: a mail can be delivered after it was deferred or bounced softly, bounce hard after it was
# delivered, and whoever unsubscribes or complains has read it. `rejected` and `deferred` are overtaken by whatever the
# mailbox itself says. `other` says nothing.
RANK: Mapping[Kind, int] = {
    Kind.OTHER: 0,
    Kind.ACCEPTED: 1,
    Kind.DEFERRED: 2,
    Kind.REJECTED: 3,
    Kind.SOFT_BOUNCE: 4,
    Kind.DELIVERED: 5,
    Kind.HARD_BOUNCE: 6,
    Kind.UNSUBSCRIBED: 7,
    Kind.COMPLAINT: 8,
}
Tally = Counter[tuple[str, str, str]]

_FIND = (
    """SELECT d.campaign_id, d.recipient_id, d.address, d.status, d.call_id, d.outcome, d.provider_message_id
    FROM json_each(:pairs) AS e CROSS JOIN delivery_ledger AS d
    WHERE d.campaign_id = e.value ->> 0 AND d.address = e.value ->> 1""",
    f"""SELECT d.campaign_id, d.recipient_id, d.address, d.status, d.call_id, d.outcome, {message_ids.READ}
    FROM jsonb_array_elements(CAST(:pairs AS jsonb)) AS e (value)
    JOIN delivery_ledger AS d ON d.campaign_id = e.value ->> 0 AND d.address = e.value ->> 1""",  # noqa: S608 - ours
)
_STORE = (
    """UPDATE delivery_ledger SET status = 'sent', outcome = e.value ->> 2, provider_message_id = e.value ->> 3,
    reason = NULL, variables = NULL, verbatim = NULL, updated_at = :now FROM json_each(:rows) AS e
    WHERE campaign_id = e.value ->> 0 AND recipient_id = e.value ->> 1""",
    """UPDATE delivery_ledger SET status = 'sent', outcome = e.value ->> 2, provider_message_id = e.value ->> 3,
    provider_message_uuid = CAST(e.value ->> 4 AS uuid),
    reason = NULL, variables = NULL, verbatim = NULL, updated_at = :now
    FROM jsonb_array_elements(CAST(:rows AS jsonb)) AS e (value)
    WHERE campaign_id = e.value ->> 0 AND recipient_id = e.value ->> 1""",
)
# Written so that PostgreSQL, too, looks at each call's own range: NOT EXISTS it would turn into a join with everything.
_NOBODY_WAITS = """SELECT c.id, c.campaign_id FROM send_call AS c
WHERE c.id IN ({ids}) AND c.state IN ('leased', 'calling', 'retry_wait', 'unknown') AND (
  SELECT d.status FROM delivery_ledger AS d WHERE d.campaign_id = c.campaign_id
  AND d.recipient_id BETWEEN c.first_id AND c.last_id AND d.call_id = c.id AND d.status = 'reserved' LIMIT 1
) IS NULL ORDER BY c.campaign_id, c.id"""
_PROVEN = (
    _NOBODY_WAITS.format(ids="SELECT value FROM json_each(:ids)"),
    _NOBODY_WAITS.format(ids="SELECT CAST(jsonb_array_elements_text(CAST(:ids AS jsonb)) AS bigint)"),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is known of one delivery, and which call reserved it last."""

    campaign_id: str
    recipient_id: str
    status: str
    call_id: int | None
    outcome: str | None
    message_id: str | None

    def hearing(self, event: Event) -> "Delivery":
        """What is known once `event` has been heard."""
        known = RANK[Kind(self.outcome)] if self.outcome else 0
        return replace(
            self,
            status="sent",
            outcome=event.kind.value if RANK[event.kind] > known else self.outcome,
            message_id=self.message_id or event.provider_message_id or None,
        )


def settle_events(connection: Connection, events: Iterable[Event], env: str) -> Tally:
    """Let the events that carry this environment's tags settle their deliveries and calls, in the caller's transaction.

    Returns what to add to the counters. Locks the campaigns, then the calls, both in order.
    """
    ours = [event for event in events if event.campaign_id and _ours(event, env)]
    if not ours:
        return Counter()
    campaigns = _locked(connection, {event.campaign_id for event in ours})
    before = _found(connection, [event for event in ours if event.campaign_id in campaigns])
    after, tally = _heard(before, ours)
    changed = [(before[key], after[key]) for key in sorted(before) if before[key] != after[key]]
    if changed:
        now = database_now(connection)
        rows = [
            [one.campaign_id, one.recipient_id, one.outcome, *message_ids.stored(connection, one.message_id)]
            for _, one in changed
        ]
        run(connection, _STORE, {"rows": as_json(rows), "now": now})
        newly = [was for was, _ in changed if was.status != "sent"]
        _move(connection, newly, now)
        _prove(connection, campaigns, newly, now)
    return tally


def _ours(event: Event, env: str) -> bool:
    return event.environment == env != "" and event.kind is not Kind.OTHER and tags.fits(event.campaign_id)


def _locked(connection: Connection, ids: set[str]) -> dict[str, Row[Any]]:
    query = select(campaign).where(campaign.c.id.in_(ids)).order_by(campaign.c.id).with_for_update()
    return {row.id: row for row in connection.execute(query)}


def _found(connection: Connection, events: Sequence[Event]) -> dict[tuple[str, str], Delivery]:
    """The deliveries that `events` are about, by campaign and address."""
    pairs = sorted({(event.campaign_id, event.recipient) for event in events})
    if not pairs:
        return {}
    rows = run(connection, _FIND, {"pairs": as_json(pairs)}).rows
    return {
        (row.campaign_id, row.address): Delivery(
            row.campaign_id, row.recipient_id, row.status, row.call_id, row.outcome, row.provider_message_id
        )
        for row in rows
    }


def _heard(
    before: Mapping[tuple[str, str], Delivery], events: Sequence[Event]
) -> tuple[dict[tuple[str, str], Delivery], Tally]:
    """The deliveries after all events, and what that counts as."""
    after, tally = dict(before), Tally()
    for event in events:
        key = event.campaign_id, event.recipient
        known = after.get(key)
        if known is None or event.recipient_id not in ("", tags.tag_of(known.recipient_id)):
            continue
        if known.status != "sent":
            tally[(Series.SENDS.value, event.provider, "event")] += 1
        elif _is_second(known, event):
            tally[(Series.DUPLICATE_DETECTED.value, event.provider, "second_message")] += 1
        after[key] = known.hearing(event)
    return after, tally


def _is_second(known: Delivery, event: Event) -> bool:
    """Whether `event` names another message than the one we know: a mail is accepted once, so this is a second mail."""
    named = event.kind is Kind.ACCEPTED and known.message_id and event.provider_message_id
    return bool(named and known.message_id != event.provider_message_id)


def _move(connection: Connection, newly: Sequence[Delivery], now: int) -> None:
    for campaign_id in sorted({one.campaign_id for one in newly}):
        left = Counter(one.status for one in newly if one.campaign_id == campaign_id)
        move_counters(connection, campaign_id, now, sent=left.total(), **{status: -n for status, n in left.items()})


def _prove(connection: Connection, campaigns: Mapping[str, Row[Any]], newly: Sequence[Delivery], now: int) -> None:
    """Settle the calls of which nobody is left waiting."""
    ids = sorted({one.call_id for one in newly if one.status == "reserved" and one.call_id is not None})
    if not ids:
        return
    for row in run(connection, _PROVEN, {"ids": as_json(ids)}).rows:
        call = lock_call(connection, row.id)
        if call is not None:
            apply(connection, campaigns[row.campaign_id].state, call, Happening.PROVEN, now)
