"""Signs of life in SQL: which processes run, and which of several clocks acts."""

import logging
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Engine, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from core.ledger.rows import SECOND, database_now
from core.ledger.tables import heartbeat
from core.tables import from_us

log = logging.getLogger(__name__)

EVERY_S = 10.0
FORGOTTEN_S = 86_400.0  # a process that was killed leaves its row, which says when
_LEASE = "lease:"


@dataclass(frozen=True, slots=True)
class Beat:
    """The last sign of life of one instance of a process."""

    process: str
    instance: str
    seen_at: datetime


class Heart:
    """One process's signs of life; never disturbs it. Beats from within the work, so that a stall shows."""

    def __init__(self, engine: Engine, process: str, instance: str) -> None:
        """`process` is the word of the Procfile, `instance` tells its copies apart."""
        self._engine, self._process, self._instance = engine, process, instance
        self._next = 0.0

    def beat(self) -> None:
        """Write a sign of life unless there was one within the last seconds; call it as often as you like."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        try:
            with self._engine.begin() as connection:
                beat(connection, self._process, self._instance)
        except SQLAlchemyError as error:
            log.info("no_heartbeat", extra={"error_type": type(error).__name__, "error": str(error)[:200]})

    def stop(self) -> None:
        """Take the row away: this process ends because it was asked to."""
        try:
            with self._engine.begin() as connection:
                connection.execute(delete(heartbeat).where(_row(self._process, self._instance)))
        except SQLAlchemyError:
            return  # the row will be too old soon


def instance() -> str:
    """What tells this copy of a process from others: machine and process number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def beat(connection: Connection, process: str, instance: str) -> None:
    """Write that this instance lives now."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    now = database_now(connection)
    insert = dialect.insert(heartbeat).values(process=process, instance=instance, seen_at=now)
    connection.execute(insert.on_conflict_do_update(index_elements=["process", "instance"], set_={"seen_at": now}))


def beats(connection: Connection) -> list[Beat]:
    """Every instance of every process, newest first within a process."""
    query = select(heartbeat).where(~heartbeat.c.process.startswith(_LEASE))
    rows = connection.execute(query.order_by(heartbeat.c.process, heartbeat.c.seen_at.desc()))
    return [Beat(row.process, row.instance, from_us(row.seen_at)) for row in rows]


def newest(found: Sequence[Beat]) -> dict[str, datetime]:
    """The last sign of life of any instance, by process."""
    latest: dict[str, datetime] = {}
    for one in found:
        latest[one.process] = max(one.seen_at, latest.get(one.process, one.seen_at))
    return latest


def forget_old(connection: Connection) -> None:
    """Drop the rows of instances that have not been seen for a day."""
    too_old = heartbeat.c.seen_at < database_now(connection) - int(FORGOTTEN_S * SECOND)
    connection.execute(delete(heartbeat).where(too_old))


def take_lease(connection: Connection, name: str, owner: str, ttl_s: float) -> bool:
    """Whether `owner` may act as the one `name` for the next `ttl_s` seconds; asking again prolongs it.

    Two that ask for a free lease in the same instant may both get it: what they do must be harmless when done twice.
    """
    process, now = _LEASE + name, database_now(connection)
    rows = connection.execute(select(heartbeat).where(heartbeat.c.process == process).with_for_update()).all()
    if any(row.instance != owner and row.seen_at > now - ttl_s * SECOND for row in rows):
        return False
    connection.execute(delete(heartbeat).where(heartbeat.c.process == process, heartbeat.c.instance != owner))
    beat(connection, process, owner)
    return True


def release_lease(connection: Connection, name: str, owner: str) -> None:
    """Let another act at once."""
    connection.execute(delete(heartbeat).where(_row(_LEASE + name, owner)))


def _row(process: str, instance: str) -> ColumnElement[bool]:
    return (heartbeat.c.process == process) & (heartbeat.c.instance == instance)
