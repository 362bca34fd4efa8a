"""Rows of the dead-letter log for letters that nobody could log: each of these killed its consumer every time.

The broker took them away at its delivery limit, which the newest entry of x-death says.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import ChannelClosedByBroker
from sqlalchemy import Engine

from core import dead_letter_log
from core.dead_letter_log import Failure
from core.messages import ATTEMPT, REPLAYS, message_id_of
from core.scan_lock import lock
from core.topology import WorkQueue

AT_MOST = 200  # letters looked at; a crash loop makes one at a time
CRASH_LOOP = "CrashLoop"
TEXT = "the consumer died with it until the broker's delivery limit took it away"


def log_crash_loops(connection: BlockingConnection, work: WorkQueue, engine: Engine, now: datetime) -> int:
    """Look at the first dead letters of `work`, return them, and log those of crash loops; returns how many.

    Does nothing while somebody else scans the queue.
    """
    channel = connection.channel()
    try:
        lock(channel, work.dead_letters)
    except ChannelClosedByBroker:
        return 0
    failures = [one for one in _look(channel, work, now) if one is not None]
    channel.queue_delete(f"{work.dead_letters}.scan")
    channel.close()
    if failures:
        with engine.begin() as transaction:
            for failure in failures:
                dead_letter_log.record(transaction, failure)
    return len(failures)


def _look(channel: BlockingChannel, work: WorkQueue, now: datetime) -> list[Failure | None]:
    found: list[Failure | None] = []
    last = None
    for _ in range(AT_MOST):
        method, properties, body = channel.basic_get(work.dead_letters)
        if method is None:
            break
        last = method.delivery_tag
        found.append(_failure(work, properties.message_id, properties.headers or {}, body, now))
    if last is not None:
        channel.basic_nack(last, multiple=True, requeue=True)
    return found


def _failure(
    work: WorkQueue, message_id: str | None, headers: Mapping[str, Any], body: bytes, now: datetime
) -> Failure | None:
    deaths = headers.get("x-death")
    newest = deaths[0] if isinstance(deaths, list) and deaths and isinstance(deaths[0], dict) else {}
    if newest.get("reason") != "delivery_limit":
        return None
    died = newest.get("time")
    at = died.replace(tzinfo=UTC) if isinstance(died, datetime) else now
    replay, attempt = _number(headers.get(REPLAYS), 0), _number(headers.get(ATTEMPT), 1)
    return Failure(work.name, message_id_of(message_id, body), replay, attempt, at, CRASH_LOOP, TEXT, "")


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and value >= default else default
