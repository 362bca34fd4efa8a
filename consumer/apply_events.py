"""Apply a batch of events: journal what is to go, delete it, mark it applied. Everything or an exception.

Two trips to Redis and two SQL transactions for a whole batch, however many events it holds; one transaction more where
events carry a proof that is good for one event only.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain

from sqlalchemy import Engine, text

from core import counts, journal, single_use, wire
from core.decide import Outcome, decide
from core.errors import Transient
from core.events import Event
from core.journal import Entry, Intents
from core.ledger.settlement import settle_events
from core.recipients import Deletion, RecipientStore
from core.telemetry import Series

ROUNDS = 3  # a record that changes between look and delete is judged anew; more often than this is nobody's accident
_RANK = {Outcome.REMOVED: 3, Outcome.STALE: 2, Outcome.ABSENT: 1}
Tally = Counter[tuple[str, str, str]]
Judged = tuple[Event, str]  # an event and one of its Redis keys


class EventWork:
    """The work of the `email-events` queue. Raises what the stores raise; core.failures says what that means."""

    def __init__(self, store: RecipientStore, engine: Engine, clock: Callable[[], datetime], env: str = "") -> None:
        """`env` is the environment whose deliveries events may settle; without one they settle nothing."""
        self._store = store
        self._engine = engine
        self._clock = clock
        self._env = env

    def decode(self, body: bytes) -> Event:
        """The event of a message body; raises Undecodable or NewerVersion."""
        return wire.decode(body)

    def subject(self, item: Event) -> tuple[str, str]:
        """Campaign and recipient of an event, for the dead-letter log."""
        return item.campaign_id, item.recipient

    def probe(self) -> None:
        """Raise unless both stores answer."""
        self._store.ping()
        with self._engine.connect() as connection:
            connection.execute(text("SELECT 1"))

    def apply(self, events: Sequence[Event]) -> dict[str, int]:
        """Make every event true and durable; returns how many came to which outcome.

        Raises Permanent before anything else happens where an event shows the proof of another.
        """
        single_use.claim(self._engine, events, self._clock())
        tally: Tally = Counter()
        removing: dict[tuple[str, str], Event] = {}
        for event in events:
            if event.removes and _identity(event) not in removing:
                removing[_identity(event)] = event
            else:
                _count(tally, event, Outcome.DUPLICATE if event.removes else Outcome.IGNORED)
        outcomes: Counter[str] = Counter()
        settling: Sequence[Event] = events  # all at once, with the first round
        for one_round in _rounds(removing.values()):
            self._apply_round(one_round, tally, settling)
            for (_, _, outcome), n in tally.items():
                outcomes[outcome] += n
            tally.clear()
            settling = ()
        return dict(outcomes)

    def _apply_round(self, events: Sequence[Event], tally: Tally, settling: Sequence[Event]) -> None:
        """Apply events of different addresses; in the same transaction let the events `settling` settle their
        deliveries, and add `tally` to the counters."""
        applied: list[Intents] = []
        pending = [(event, key) for event in events for key in self._keys(event)]
        for _ in range(ROUNDS):
            if not pending:
                break
            intents = self._intend(pending)
            changed = self._delete(intents)
            applied.append(intents.without(changed))
            pending = [(one.event, one.key) for one in intents.entries if one.id in changed] if changed else []
        if pending:
            raise Transient("record_keeps_changing", f"a record changed under us {ROUNDS} times")
        for event, outcome in _outcomes(events, chain.from_iterable(intents.entries for intents in applied)):
            _count(tally, event, outcome)
        with self._engine.begin() as connection:
            for intents in applied:
                journal.mark_applied(connection, intents, self._clock())
            settled = settle_events(connection, settling, self._env)
            counts.add(connection, tally + settled, self._clock())

    def _keys(self, event: Event) -> Iterable[str]:
        normal = self._store.key(event.recipient)
        if event.recipient_verbatim == event.recipient:
            return (normal,)
        return normal, self._store.key(event.recipient_verbatim)

    def _intend(self, pending: Sequence[Judged]) -> Intents:
        """Look, decide, and commit what is to be done; the repeats of applied events fall out here."""
        records = self._store.read([key for _, key in pending])
        now = self._clock()
        with self._engine.begin() as connection:
            # Read after the records: `restore` marks the journal first and writes the record second.
            restored = journal.restores(connection, (event for event, _ in pending))
            entries = []
            for (event, key), record in zip(pending, records, strict=True):
                outcome = decide(event, record, restored.get(event.recipient), now)
                entries.append(Entry(event, key, outcome, record if outcome is Outcome.REMOVED else None))
            return journal.intend(connection, entries, now)

    def _delete(self, intents: Intents) -> set[tuple[str, str]]:
        """Delete what was journalled; returns the ids of entries whose record had changed meanwhile."""
        removals = [(entry.id, entry.key, entry.record) for entry in intents.entries if entry.record is not None]
        found = self._store.delete_if_unchanged([(key, record) for _, key, record in removals])
        return {one[0] for one, result in zip(removals, found, strict=True) if result is Deletion.CHANGED}


def _rounds(events: Iterable[Event]) -> list[list[Event]]:
    """The events in rounds that hold each address once, in order; at least one round, maybe empty.

    Sorted within a round, so that two consumers take their locks in the same order.
    """
    rounds: list[dict[str, Event]] = [{}]
    for event in events:
        for one_round in rounds:
            if event.recipient not in one_round:
                one_round[event.recipient] = event
                break
        else:
            rounds.append({event.recipient: event})
    return [sorted(one_round.values(), key=lambda event: event.event_id) for one_round in rounds]


def _outcomes(events: Iterable[Event], applied: Iterable[Entry]) -> Iterable[tuple[Event, Outcome]]:
    """One outcome for each event: the strongest of its keys', duplicate where nothing was left to apply."""
    best: dict[tuple[str, str], Outcome] = {}
    for entry in applied:
        known = best.get(_identity(entry.event))
        if known is None or _RANK[entry.outcome] > _RANK[known]:
            best[_identity(entry.event)] = entry.outcome
    return [(event, best.get(_identity(event), Outcome.DUPLICATE)) for event in events]


def _identity(event: Event) -> tuple[str, str]:
    """What makes two events the same. Not the id alone: a sender that gives two people one id must cost neither."""
    return event.event_id, event.recipient


def _count(tally: Tally, event: Event, outcome: Outcome) -> None:
    tally[(Series.OUTCOME.value, event.provider, outcome.value)] += 1
