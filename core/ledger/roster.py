"""Reads for people: which campaigns there are, who has not been mailed and why, which calls need a decision."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, or_, select

from core import database
from core.ledger import message_ids
from core.ledger.rows import Member, in_states
from core.ledger.states import HELD, Call
from core.ledger.tables import campaign, delivery_ledger, send_call

_IDS = ("provider_message_id", "provider_message_uuid")
_DELIVERY = (*(one for one in delivery_ledger.c if one.name not in _IDS), message_ids.column())

PAGE = 2000  # deliveries read at once: little memory, and little time in which a process answers nobody else


def listed(connection: Connection, limit: int) -> Sequence[Row[Any]]:
    """Campaigns, the newest first."""
    return connection.execute(select(campaign).order_by(campaign.c.created_at.desc(), campaign.c.id).limit(limit)).all()


def deliveries(
    connection: Connection, campaign_id: str, *, after: str = "", limit: int = PAGE, statuses: Sequence[str] = ()
) -> Sequence[Row[Any]]:
    """Deliveries of a campaign in the order of their recipient ids, those after `after`; all unless `statuses` say."""
    table = delivery_ledger.c
    wanted = (table.campaign_id == campaign_id) & (table.recipient_id > after)
    if statuses:
        wanted &= table.status.in_(statuses)
    return connection.execute(select(*_DELIVERY).where(wanted).order_by(table.recipient_id).limit(limit)).all()


def all_deliveries(engine: Engine, campaign_id: str, statuses: Sequence[str] = ()) -> Iterator[Row[Any]]:
    """Every delivery, page by page; no transaction spans two pages."""
    after = ""
    while True:
        with database.reading(engine) as connection:
            rows = deliveries(connection, campaign_id, after=after, statuses=statuses)
        if not rows:
            return
        yield from rows
        after = rows[-1].recipient_id


def member(row: Row[Any]) -> Member:
    """The person of a delivery, as whoever renders a mail needs it."""
    return Member(row.recipient_id, row.address, row.verbatim or row.address, row.variables or "{}")


def undecided(connection: Connection, campaign_id: str) -> Sequence[Row[Any]]:
    """Calls that an operator may settle: those whose outcome is unknown, and, while the campaign does not run, those
    that wait to be repeated."""
    waits = and_(in_states(HELD), send_call.c.state == Call.RETRY_WAIT.value, campaign.c.state != "running")
    joined = send_call.join(campaign, campaign.c.id == send_call.c.campaign_id)
    wanted = (send_call.c.campaign_id == campaign_id) & or_(in_states([Call.UNKNOWN]), waits)
    return connection.execute(select(send_call).select_from(joined).where(wanted).order_by(send_call.c.id)).all()
