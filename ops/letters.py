"""What a dead letter is, read from its message: its id, its lane, why it is here, and since when. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from core import batch_message, parked, wire
from core.batch_message import BatchMessage
from core.dead_letter_log import Failure
from core.errors import NewerVersion, Undecodable
from core.events import Event
from core.messages import ATTEMPT, REPLAYS, message_id_of
from core.parked import Parked
from core.telemetry import redact
from core.topology import BATCHES

REASON_LIMIT = 160  # characters: one line of a terminal, and enough to tell two causes apart
CRASHED = "crash loop: the consumer died with it until the broker's delivery limit took it away"


class Lane(StrEnum):
    """Why a letter lies where it lies; the first two share the dead-letter queue."""

    FAILED = "failed"  # an error of ours or of a store, after all attempts
    CRASH_LOOP = "crash-loop"  # it took its consumer down each time, so nobody could write down an error
    PARKED = "parked"  # a verified body that could not be understood or names no single recipient


DEAD = frozenset({Lane.FAILED, Lane.CRASH_LOOP})
Content = Event | BatchMessage | Parked | Undecodable | NewerVersion


@dataclass(frozen=True, slots=True)
class Letter:
    """One message of a dead-letter queue or a parked lane.

    `queue` is the work queue it belongs to, `content` what its body says or why it cannot be read, `failure` the open
    row of the dead-letter log, `tag` the handle of the scan that delivered it.
    """

    id: str
    lane: Lane
    queue: str
    body: bytes
    headers: Mapping[str, Any]
    content: Content
    tag: int = 0
    failure: Failure | None = None

    @property
    def replays(self) -> int:
        """How often an operator has put it back."""
        return _count(self.headers.get(REPLAYS), 0)

    @property
    def attempt(self) -> int:
        """The number of the attempt that failed, from 1."""
        return _count(self.headers.get(ATTEMPT), 1)

    @property
    def since(self) -> datetime | None:
        """When it died (failed, crash loop) or was received (parked); None where nothing says so."""
        if isinstance(self.content, Parked):
            return self.content.received_at.astimezone(UTC)
        if self.failure is not None:
            return self.failure.failed_at
        died = newest_death(self.headers).get("time")
        return died.replace(tzinfo=UTC) if isinstance(died, datetime) else None

    @property
    def error(self) -> str:
        """The whole error as it is known: from the log, else the header of the last retry, else the broker's word."""
        if self.lane is Lane.PARKED:
            return _parked_reason(self.content)
        if self.lane is Lane.CRASH_LOOP:
            return CRASHED
        if self.failure is not None:
            return f"{self.failure.error_type}: {self.failure.error}"
        if isinstance(self.content, Undecodable):
            return f"Undecodable: {self.content}"  # as the log would have it
        said = self.headers.get("last_error")
        return str(said) if said else f"{newest_death(self.headers).get('reason', 'unknown')}, and no error was logged"

    @property
    def reason(self) -> str:
        """The error as a group's name: its first line, cut, without addresses."""
        return redact(self.error.partition("\n")[0])[:REASON_LIMIT]


def read_letter(
    tag: int, queue: str, is_parked: bool, message_id: str | None, headers: Mapping[str, Any] | None, body: bytes
) -> Letter:
    """The letter that a delivered message is."""
    headers = headers or {}
    if is_parked:
        lane = Lane.PARKED
    else:
        crashed = newest_death(headers).get("reason") == "delivery_limit"
        lane = Lane.CRASH_LOOP if crashed else Lane.FAILED
    return Letter(message_id_of(message_id, body), lane, queue, body, headers, _content(is_parked, queue, body), tag)


def newest_death(headers: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first entry of x-death, which brokers keep newest first; empty where there is none."""
    deaths = headers.get("x-death")
    first = deaths[0] if isinstance(deaths, list) and deaths else {}
    return first if isinstance(first, dict) else {}


def _content(is_parked: bool, queue: str, body: bytes) -> Content:
    try:
        if is_parked:
            return parked.decode(body)
        return batch_message.decode(body) if queue.endswith(BATCHES) else wire.decode(body)
    except (Undecodable, NewerVersion) as error:
        return error


def _parked_reason(content: Content) -> str:
    if isinstance(content, Parked):
        return f"{content.provider}: " + "; ".join(sorted({item.reason for item in content.items}))
    return f"not a parked message: {content}"


def _count(value: object, default: int) -> int:
    return value if isinstance(value, int) and value >= default else default
