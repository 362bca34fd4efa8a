"""What the consumer would do with a message right now, found out without touching anything.

Cannot foresee a store that answers reads and refuses writes.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from redis.exceptions import RedisError
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError

from core import database, journal, wire
from core.decide import Outcome, decide
from core.errors import MailwardError, NewerVersion, Outage, Undecodable
from core.events import Event
from core.failures import judge
from core.recipients import RecipientStore
from core.tables import journal as journal_rows
from ops.replay import words

WORDS = {  # for what would happen; an outcome is named for what has happened
    Outcome.REMOVED: "remove",
    Outcome.STALE: "stale: the record is younger than the event",
    Outcome.ABSENT: "absent: there is no record",
    Outcome.IGNORED: "ignored: this kind removes nothing",
    Outcome.DUPLICATE: "duplicate: it is applied already",
}
_RANK = (Outcome.REMOVED, Outcome.STALE, Outcome.ABSENT)


@dataclass(frozen=True, slots=True)
class Key:
    """One Redis key of an event: its record, and what the journal has for this event and key."""

    record: bytes | None
    intended: str = ""
    applied: bool = False


def foresee(event: Event, keys: Iterable[Key], restored_at: datetime | None, now: datetime) -> Outcome:
    """The outcome of `event`, given what is known of its keys; the strongest where they differ."""
    if not event.removes:
        return Outcome.IGNORED
    outcomes = {_outcome(event, key, restored_at, now) for key in keys if not key.applied}
    return next((outcome for outcome in _RANK if outcome in outcomes), Outcome.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Preview:
    """Foresees messages of the `email-events` queue, one after the other: the second of one event is a duplicate."""

    store: RecipientStore
    engine: Engine
    clock: Callable[[], datetime]
    _seen: set[str] = field(default_factory=set)

    def of(self, body: bytes) -> str:
        """What would happen to the message with this body, in words. Raises what a store raises while it is away."""
        try:
            event = wire.decode(body)
            outcome = self._outcome(event)
        except NewerVersion as error:
            return f"wait: {error.text}"
        except Undecodable as error:
            return f"still failing: {words(error)}"
        except (MailwardError, RedisError, SQLAlchemyError) as error:
            if judge(error).kind is Outage:
                raise
            return f"still failing: {error}"
        return WORDS[outcome]

    def _outcome(self, event: Event) -> Outcome:
        if event.event_id in self._seen and event.removes:
            return Outcome.DUPLICATE
        names = list(dict.fromkeys((self.store.key(event.recipient), self.store.key(event.recipient_verbatim))))
        records = self.store.read(names) if event.removes else [None] * len(names)
        with database.reading(self.engine) as connection:
            restored = journal.restores(connection, [event]).get(event.recipient)
            columns = (journal_rows.c.redis_key, journal_rows.c.outcome, journal_rows.c.applied_at)
            rows = connection.execute(select(*columns).where(journal_rows.c.event_id == event.event_id))
            known: Mapping[str, tuple[str, bool]] = {
                row.redis_key: (row.outcome, row.applied_at is not None) for row in rows
            }
        keys = (Key(record, *known.get(name, ("", False))) for name, record in zip(names, records, strict=True))
        self._seen.add(event.event_id)
        return foresee(event, keys, restored, self.clock())


def _outcome(event: Event, key: Key, restored_at: datetime | None, now: datetime) -> Outcome:
    outcome = decide(event, key.record, restored_at, now)
    if outcome is Outcome.ABSENT and key.intended == Outcome.REMOVED:
        return Outcome.REMOVED  # deleted by us before a crash; the repeat completes it
    return outcome
