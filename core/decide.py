"""The decision about one recipient record: remove it, leave it, or find it absent. Pure; the only judge of deletion."""

import json
from datetime import UTC, datetime
from enum import StrEnum

from core.clock import SKEW
from core.events import Event

_MILLISECONDS = 100_000_000_000  # a number above this cannot be seconds (year 5138), so it is milliseconds


class Outcome(StrEnum):
    """What came of an event; the first three are what the journal records."""

    REMOVED = "removed"
    ABSENT = "absent"
    STALE = "stale"
    IGNORED = "ignored"  # a kind that removes nothing
    DUPLICATE = "duplicate"  # a repeat of an event already applied


def decide(event: Event, record: bytes | None, restored_at: datetime | None, now: datetime) -> Outcome:
    """What to do with a record because of a removing `event`.

    `record` is the value stored under the key, None where there is none; `restored_at` is the latest time an operator
    restored this address. An event older than the consent (`eligible_since`) or not newer than the restore is stale:
    it says nothing about the person who came back. An event as old as the consent is not stale.
    """
    if restored_at is not None and event.occurred_at <= restored_at:
        return Outcome.STALE
    if record is None:
        return Outcome.ABSENT
    since = eligible_since(record, now)
    return Outcome.STALE if since is not None and event.occurred_at < since else Outcome.REMOVED


def eligible_since(record: bytes, now: datetime) -> datetime | None:
    """When consent was given, from the optional member `eligible_since` of a JSON record.

    An ISO 8601 text (no offset means UTC) or a number of seconds or milliseconds since the epoch. Unparsable, or more
    than five minutes ahead of `now`, counts as absent: a fence that nobody can pass would keep dead addresses for ever.
    """
    if b"eligible_since" not in record and b"\\u" not in record:
        return None  # most records have no fence; do not parse them
    try:
        data = json.loads(record)
        moment = _moment(data.get("eligible_since")) if isinstance(data, dict) else None
    except (ValueError, OverflowError, OSError, RecursionError):
        return None
    return None if moment is None or moment > now + SKEW else moment


def _moment(value: object) -> datetime | None:
    if isinstance(value, str):
        moment = datetime.fromisoformat(value.strip())
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
    return None
