"""The letters of all lanes, read from their queues and joined with the log of errors; and the way they are settled.

A letter leaves its queue in one place, `settle`, and only after everything that replaces it is safe.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from core import database, dead_letter_log
from core.dead_letter_log import Closing, Failure
from core.topology import Topology, WorkQueue
from ops.context import Context
from ops.letters import DEAD, Lane, Letter, read_letter
from ops.scan import Scan
from ops.selection import Selection
from ops.settlement import Plan, Settle, Step, Tally

T = TypeVar("T")
CONFIRM_TIMEOUT_S = 30.0  # for one window; nobody waits at the other end, so a slow broker may take its time


@dataclass(frozen=True, slots=True)
class Source:
    """One queue that holds letters of `work`: its dead-letter queue or its parked lane."""

    work: WorkQueue
    is_parked: bool

    @property
    def queue(self) -> str:
        """The queue's name."""
        return self.work.parked if self.is_parked else self.work.dead_letters


def sources(topology: Topology, lanes: frozenset[Lane]) -> list[Source]:
    """The queues in which letters of `lanes` lie."""
    both = [Source(work, is_parked) for work in topology.work_queues for is_parked in (False, True)]
    return [
        one
        for one in both
        if (one.work.parks and Lane.PARKED in lanes if one.is_parked else not lanes.isdisjoint(DEAD))
    ]


class DeadLetters:
    """Reads and settles letters with the services of `context`. Raises what Scan and the stores raise."""

    def __init__(self, context: Context, on_missing_log: Callable[[SQLAlchemyError], None] | None = None) -> None:
        """Without SQL, looking goes on without the log's errors after one call of `on_missing_log`; None: it raises."""
        self._context, self._on_missing_log = context, on_missing_log
        self._log_is_missing = False

    def look(self, lanes: frozenset[Lane]) -> Iterator[Letter]:
        """Every letter of `lanes`, queue by queue in order; nothing changes."""
        for source in sources(self._context.topology, lanes):
            with Scan(self._context.settings.amqp_url, source.queue) as scan:
                for window in self._windows(scan, source):
                    yield from (letter for letter in window if letter.lane in lanes)

    def history(self, letter: Letter) -> list[tuple[Failure, str]]:
        """Every row that the log has of a letter, oldest first, each with how it was closed."""
        return self._logged(lambda connection: dead_letter_log.history(connection, letter.queue, letter.id), [])

    def ids(self, lanes: frozenset[Lane]) -> Counter[str]:
        """How many letters of `lanes` have which id."""
        return Counter(letter.id for letter in self.look(lanes))

    def plan(self, selection: Selection, plan: Plan, limit: int) -> Iterator[tuple[Letter, Step]]:
        """What `plan` says of each selected letter, at most `limit` of them; nothing changes."""
        selected = (letter for letter in self.look(selection.lanes) if selection.takes(letter))
        for letter in islice(selected, limit):
            yield letter, plan(letter)

    def carry_out(
        self, selection: Selection, plan: Plan, limit: int, tally: Tally, advance: Callable[[int], None]
    ) -> None:
        """Do what `plan` says with each selected letter, at most `limit` of them, all of which were there at the start.

        `tally` and `advance` learn of each window once it is done, so that both are right when an error ends the run.
        """
        for source in sources(self._context.topology, selection.lanes):
            with Scan(self._context.settings.amqp_url, source.queue) as scan:
                for window in self._windows(scan, source):
                    chosen = [letter for letter in window if selection.takes(letter)][:limit]
                    steps = [(letter, plan(letter)) for letter in chosen]
                    self._settle(scan, source, [(one, step) for one, step in steps if isinstance(step, Settle)])
                    tally.add(step for _, step in steps)
                    advance(len(steps))
                    limit -= len(steps)
                    if not limit:
                        break

    def _settle(self, scan: Scan, source: Source, settled: Sequence[tuple[Letter, Settle]]) -> None:
        """Publish and confirm, then write down, then ack: an end in between leaves a duplicate, never a hole."""
        messages = [message for _, step in settled for message in step.messages]
        if messages:
            self._context.publisher.publish(messages, CONFIRM_TIMEOUT_S)
        if settled:
            with self._context.engine.begin() as connection:
                for letter, step in settled:
                    closing = Closing(
                        source.work.name, letter.id, letter.replays, step.closed_as, step.why, self._context.clock()
                    )
                    if step.keeps:
                        dead_letter_log.keep(connection, closing, letter.body)
                    dead_letter_log.close(connection, closing)
        for letter, _ in settled:
            scan.ack(letter.tag)

    def _windows(self, scan: Scan, source: Source) -> Iterator[list[Letter]]:
        for window in scan.windows():
            letters = [
                read_letter(one.tag, source.work.name, source.is_parked, one.message_id, one.headers, one.body)
                for one in window
            ]
            failures = {} if source.is_parked else self._failures(source, {letter.id for letter in letters})
            yield [replace(letter, failure=failures.get(letter.id)) for letter in letters]

    def _failures(self, source: Source, ids: Collection[str]) -> dict[str, Failure]:
        name, nothing = source.work.name, dict[str, Failure]()
        return self._logged(lambda connection: dead_letter_log.latest(connection, name, list(ids)), nothing)

    def _logged(self, ask: Callable[[Connection], T], unknown: T) -> T:
        """The log's answer, or `unknown` while SQL is away and looking goes on without it."""
        if self._log_is_missing:
            return unknown
        try:
            with database.reading(self._context.engine) as connection:
                return ask(connection)
        except SQLAlchemyError as error:
            if self._on_missing_log is None:
                raise
            self._log_is_missing = True
            self._on_missing_log(error)
            return unknown
