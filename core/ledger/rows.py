"""Values and small statements that the ledger's modules share."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    bindparam,
    func,
    select,
    text,
)

from core.clock import utc_now
from core.ledger.states import OPEN, Call
from core.ledger.tables import campaign, send_call
from core.pipeline import Answer
from core.statements import Asked, both, run, together
from core.tables import to_us

SECOND = 1_000_000  # microseconds

CALL = tuple(column for column in send_call.c if column.name != "payload")  # all that is not large

# Built once: SQLAlchemy takes longer to build a statement than a database takes to run it.
_CLOCK = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"  # PostgreSQL's, in microseconds
_NOW = text(f"SELECT {_CLOCK}")
_LOCK_CAMPAIGN = select(campaign).where(campaign.c.id == bindparam("campaign_id")).with_for_update()
_LOCK_CALL = select(*CALL).where(send_call.c.id == bindparam("call_id")).with_for_update()
_PAYLOAD = select(send_call.c.payload).where(send_call.c.id == bindparam("call_id"))
# Locked in the order of `OF`: the campaign first.
_COLUMNS = ", ".join(f"send_call.{column.name}" for column in CALL)
_LOCK = f"""SELECT {_COLUMNS}, campaign.state AS campaign_state
FROM campaign JOIN send_call ON send_call.campaign_id = campaign.id
WHERE campaign.id = :campaign_id AND send_call.id = :call_id{{lock}}"""  # noqa: S608 - our own columns
_FOR_UPDATE = " FOR UPDATE OF campaign, send_call"
_LOCK_AND_LOOK = (
    _LOCK.format(lock=""),
    # The clock is read outside: inside it would be read before the lock is had.
    f"SELECT locked.*, {_CLOCK} AS clock FROM ({_LOCK.format(lock=_FOR_UPDATE)}) AS locked",  # noqa: S608 - our own
)
_MOVE = """UPDATE campaign SET progress_at = :now, pending = pending + :pending, reserved = reserved + :reserved,
sent = sent + :sent, failed = failed + :failed, skipped = skipped + :skipped WHERE id = :campaign"""
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


def payload_of(connection: Connection, call_id: int) -> bytes:
    """The compressed request body of a sealed call, which only a repeat needs."""
    payload: bytes = connection.execute(_PAYLOAD, {"call_id": call_id}).scalar_one()
    return payload


def lock(connection: Connection, campaign_id: str, call_id: int) -> Locked | None:
    """Lock the campaign, then the call, in one statement; None where the campaign has no such call."""
    return lock_and_ask(connection, campaign_id, call_id)[0]


def lock_and_ask(
    connection: Connection, campaign_id: str, call_id: int, *asked: Asked
) -> tuple[Locked | None, list[Answer]]:
    """`lock`, and with it the answers to what can be asked without knowing the call, as they are under the lock."""
    values = {"campaign_id": campaign_id, "call_id": call_id}
    found, *answers = together(connection, (_LOCK_AND_LOOK, values), *asked)
    if not found.rows:
        return None, answers
    call = found.rows[0]
    now = call.clock if connection.dialect.name == "postgresql" else database_now(connection)
    return Locked(call.campaign_state, call, now), answers


def move_counters(connection: Connection, campaign_id: str, now: int, **by: int) -> None:
    """Add to the campaign's counters; the table's check holds them to the total."""
    if any(by.values()):
        run(connection, *moving(campaign_id, now, by))


def change_call(connection: Connection, call_id: int, now: int, **values: Any) -> None:
    """Update one call."""
    run(connection, *changing(call_id, now, values))


def moving(campaign_id: str, now: int, by: Moved) -> Asked:
    """What adds to the campaign's counters."""
    return both(_MOVE), {"campaign": campaign_id, "now": now, **_NONE_MOVED, **by}


def changing(call_id: int, now: int, values: Mapping[str, Any]) -> Asked:
    """What updates one call."""
    changes = {f"to_{name}": value for name, value in values.items()}
    return both(_change(tuple(values))), {"call_id": call_id, "now": now, **changes}


@cache
def _change(columns: tuple[str, ...]) -> str:
    changes = ", ".join(f"{column} = :to_{column}" for column in columns)
    return f"UPDATE send_call SET updated_at = :now, {changes} WHERE id = :call_id"  # noqa: S608 - our own columns


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
