"""Values and small statements that the ledger's modules share."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    bindparam,
    func,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.sql.elements import TextClause

from core.clock import utc_now
from core.ledger.states import OPEN, Call
from core.ledger.tables import campaign, send_call
from core.tables import to_us

SECOND = 1_000_000  # microseconds

# Built once: SQLAlchemy takes longer to build a statement than a database takes to run it.
_CLOCK = literal_column("CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)", BigInteger)
_NOW = select(_CLOCK)
_LOCK_CAMPAIGN = select(campaign).where(campaign.c.id == bindparam("campaign_id")).with_for_update()
_LOCK_CALL = select(send_call).where(send_call.c.id == bindparam("call_id")).with_for_update()
# Locked in the order of `of`: the campaign first.
_LOCK = (
    select(send_call, campaign.c.state.label("campaign_state"))
    .join_from(campaign, send_call, send_call.c.campaign_id == campaign.c.id)
    .where(campaign.c.id == bindparam("campaign_id"), send_call.c.id == bindparam("call_id"))
    .with_for_update(of=[campaign, send_call])
)
_LOCK_AND_LOOK = _LOCK.add_columns(_CLOCK.label("clock"))
_CHANGE_CALL = update(send_call).where(send_call.c.id == bindparam("call_id"))
_MOVE = text("""UPDATE campaign SET progress_at = :now, pending = pending + :pending, reserved = reserved + :reserved,
sent = sent + :sent, failed = failed + :failed, skipped = skipped + :skipped WHERE id = :campaign""")
_MOVE_SQL = str(_MOVE)
_NONE_MOVED = {"pending": 0, "reserved": 0, "sent": 0, "failed": 0, "skipped": 0}


Moved = Mapping[str, int]
"""By how much each counter of a campaign moves."""


class Member(NamedTuple):
    """A delivery as a worker needs it: whom, and with which merge fields (JSON text)."""

    recipient_id: str
    address: str
    verbatim: str
    variables: str


class Locked(NamedTuple):
    """The state of a campaign with one of its calls, both locked, and the database's clock at that time."""

    campaign_state: str
    call: Row[Any]
    now: int


def database_now(connection: Connection) -> int:
    """The database's clock, in microseconds: the one that all workers share. SQLite's is this machine's."""
    if connection.dialect.name == "postgresql":
        return int(connection.execute(_NOW).scalar_one())
    return to_us(utc_now())


def lock_campaign(connection: Connection, campaign_id: str) -> Row[Any] | None:
    """The campaign's row, locked until the transaction ends (on SQLite the transaction itself is the lock)."""
    return connection.execute(_LOCK_CAMPAIGN, {"campaign_id": campaign_id}).first()


def lock_call(connection: Connection, call_id: int) -> Row[Any] | None:
    """The call's row, locked. Take the campaign's lock first, always."""
    return connection.execute(_LOCK_CALL, {"call_id": call_id}).first()


def lock(connection: Connection, campaign_id: str, call_id: int) -> Locked | None:
    """Lock the campaign, then the call, in one statement; None where the campaign has no such call."""
    values = {"campaign_id": campaign_id, "call_id": call_id}
    on_postgresql = connection.dialect.name == "postgresql"
    call = connection.execute(_LOCK_AND_LOOK if on_postgresql else _LOCK, values).first()
    if call is None:
        return None
    return Locked(call.campaign_state, call, call.clock if on_postgresql else database_now(connection))


def move_counters(connection: Connection, campaign_id: str, now: int, **by: int) -> None:
    """Add to the campaign's counters; the table's check holds them to the total."""
    if any(by.values()):
        connection.execute(_MOVE, {"campaign": campaign_id, "now": now, **_NONE_MOVED, **by})


def change_call(connection: Connection, call_id: int, now: int, **values: Any) -> None:
    """Update one call."""
    connection.execute(_CHANGE_CALL, {"call_id": call_id, "updated_at": now, **values})


def move_and_change(connection: Connection, campaign_id: str, call_id: int, now: int, by: Moved, **values: Any) -> None:
    """`move_counters` and `change_call`, on PostgreSQL in one statement: round trips are most of what a call costs."""
    if connection.dialect.name != "postgresql" or not any(by.values()):
        move_counters(connection, campaign_id, now, **by)
        change_call(connection, call_id, now, **values)
        return
    counters = {"campaign": campaign_id, "now": now, **_NONE_MOVED, **by}
    changes = {f"to_{name}": value for name, value in values.items()}
    connection.execute(_move_and_change(tuple(values)), counters | changes | {"call_id": call_id})


@cache
def _move_and_change(columns: tuple[str, ...]) -> TextClause:
    changes = ", ".join(f"{column} = :to_{column}" for column in columns)
    change = f"UPDATE send_call SET updated_at = :now, {changes} WHERE id = :call_id"  # noqa: S608 - our own columns
    return text(f"WITH moved AS ({_MOVE_SQL}) {change}")


def plan_call(
    connection: Connection,
    campaign_id: str,
    first: str,
    last: str,
    generation: int,
    now: int,
    due_at: int | None = None,
) -> None:
    """Plan a call over the pending members from `first` to `last`, due at once unless `due_at` says when."""
    connection.execute(
        send_call.insert().values(
            campaign_id=campaign_id, generation=generation, first_id=first, last_id=last, state=Call.PLANNED.value,
            due_at=now if due_at is None else due_at, created_at=now, updated_at=now,
        )
    )  # fmt: skip


def each(connection: Connection, on_sqlite: str, on_postgresql: str) -> TextClause:
    """A statement over the elements of a JSON array parameter: one round trip for a hundred rows on both engines."""
    return _clause(on_postgresql if connection.dialect.name == "postgresql" else on_sqlite)


@cache
def _clause(statement: str) -> TextClause:
    return text(statement)


def as_json(values: Sequence[Any]) -> str:
    """A JSON array parameter for `each`."""
    return json.dumps(values)


def in_states(states: Sequence[Call]) -> ColumnElement[bool]:
    """The condition that a call is in one of `states`, with literal values: SQLite uses a partial index only where its
    condition (that of OPEN, HELD or UNKNOWN) is written in the statement."""
    values: BindParameter[Any] = bindparam(
        None, [state.value for state in states], expanding=True, literal_execute=True
    )
    return send_call.c.state.in_(values)


def open_calls(connection: Connection, campaign_id: str) -> int:
    """How many calls of a campaign somebody still has to move (unknown ones not counted)."""
    condition = (send_call.c.campaign_id == campaign_id) & in_states(OPEN)
    return int(connection.execute(select(func.count()).select_from(send_call).where(condition)).scalar_one())
