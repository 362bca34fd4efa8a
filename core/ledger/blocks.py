"""Whom the journal keeps from being mailed: the last check before a call is sealed, and again before it begins."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from core.decide import eligible_since
from core.statements import Asked, as_json, run
from core.tables import to_us

_NEWEST = """SELECT address, max(occurred_at) AS newest FROM journal
WHERE address {among} AND outcome IN ('removed', 'absent') AND restored_at IS NULL GROUP BY address"""
_QUERY = (
    _NEWEST.format(among="IN (SELECT value FROM json_each(:addresses))"),
    # ANY of an array: joined with a set, a journal without statistics is read whole for each address (a second in all).
    _NEWEST.format(among="= ANY(ARRAY(SELECT jsonb_array_elements_text(CAST(:addresses AS jsonb))))"),
)


def blocked(connection: Connection, records: Mapping[str, bytes | None], now: datetime) -> set[str]:
    """The addresses (normal form, with their present records) that a removal or an absent one's event blocks.

    A block ends with a restore, or with a record whose consent is newer than the event.
    """
    return judged(run(connection, *journalled(records)).rows, records, now) if records else set()


def journalled(addresses: Collection[str]) -> Asked:
    """The first half of `blocked`: asking the journal about some addresses."""
    return _QUERY, {"addresses": as_json(list(addresses))}


def judged(rows: Sequence[Any], records: Mapping[str, bytes | None], now: datetime) -> set[str]:
    """The second half of `blocked`, given the answer's rows."""
    return {row.address for row in rows if not _readmitted(records[row.address], row.newest, now)}


def _readmitted(record: bytes | None, newest: int, now: datetime) -> bool:
    since = None if record is None else eligible_since(record, now)
    return since is not None and newest < to_us(since)
