"""The sweeper: no call and no pending member of a running campaign is ever without someone who will move it.

One pass looks at everything that could be left behind by a crash, a lost message or a lost worker. The queue is a hint;
the ledger, from which the sweeper works, is the truth. Each step is a short transaction; none spans a publish.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from core import batch_message, database
from core.batch_message import BatchMessage
from core.ledger import completion, due, identity, overdue, planning, skipping
from core.ledger.due import Due
from core.ledger.rows import SECOND, database_now, lock_campaign, open_calls
from core.ledger.states import Call
from core.messages import Outgoing
from core.topology import Topology

log = logging.getLogger(__name__)

WINDOW_US = 22 * 3600 * SECOND  # providers forget keys after 24 h; a repeat must arrive well before
SLICE = 500  # calls that one pass publishes or ends at most, so that a pass stays short
SKIPPED = 5  # slices of a cancelled campaign that one pass skips at most
STALLED_US = 600 * SECOND


@dataclass(frozen=True)
class Sweeper:
    """Sweeps one ledger; `publish` returns once the broker has confirmed, or raises Outage."""

    engine: Engine
    publish: Callable[[Sequence[Outgoing]], None]
    topology: Topology
    window_us: int = WINDOW_US

    def sweep(self) -> dict[str, int]:
        """One pass; returns how many of what. Raises what SQL and `publish` raise; a repeat does no harm."""
        done: Counter[str] = Counter()
        done.update(self._end_overdue())
        done.update(self._plan())
        done.update(self._complete())
        done["published"] = self.publish_due()
        done["slices_skipped"] = self._skip()
        return {name: n for name, n in done.items() if n}

    def publish_due(self, campaign_id: str = "") -> int:
        """Publish a message for each call that needs one (of one campaign, if named); returns how many."""
        with database.reading(self.engine) as connection:
            calls = due.due(connection, self.topology.batches.name, SLICE, campaign_id)
        if not calls:
            return 0
        with self.engine.begin() as connection:
            ledger = str(identity.own(connection))
        self.publish([self._message(ledger, one) for one in calls])
        with self.engine.begin() as connection:
            due.mark_published(connection, calls)
        return len(calls)

    def _message(self, ledger: str, one: Due) -> Outgoing:
        return batch_message.outgoing(BatchMessage(ledger, one.campaign_id, one.call_id), self.topology)

    def _end_overdue(self) -> Counter[str]:
        done: Counter[str] = Counter()
        with database.reading(self.engine) as connection:
            calls = overdue.overdue(connection, self.window_us, SLICE)
        for campaign_id, call_id in calls:
            with self.engine.begin() as connection:
                moves = overdue.end(connection, campaign_id, call_id, self.window_us)
            if moves:
                unknown = moves[-1].after is Call.UNKNOWN
                done["unknown" if unknown else "released"] += 1
                log.log(
                    logging.ERROR if unknown else logging.WARNING, "call_ended",
                    extra={"campaign_id": campaign_id, "call_id": call_id, "state": moves[-1].after.value},
                )  # fmt: skip
        return done

    def _plan(self) -> Counter[str]:
        """Plan the pending members that no open call covers."""
        with database.reading(self.engine) as connection:
            plans = {one: planning.draw(connection, one) for one in completion.unplanned(connection)}
        planned = 0
        for campaign_id, drawn in plans.items():
            with self.engine.begin() as connection:
                row = lock_campaign(connection, campaign_id)
                if row is not None and row.state == "running" and not open_calls(connection, campaign_id):
                    planned += planning.plan_all(connection, campaign_id, database_now(connection), drawn=drawn)
        return Counter(planned=planned)

    def _skip(self) -> int:
        """Go on with what cancelling a large campaign has begun."""
        with database.reading(self.engine) as connection:
            cancelled = skipping.unfinished(connection)
        return sum(skipping.skip_some(self.engine, one, SKIPPED) for one in cancelled)

    def _complete(self) -> Counter[str]:
        done: Counter[str] = Counter()
        with database.reading(self.engine) as connection:
            verdicts = [(row, completion.judged(connection, row)) for row in completion.candidates(connection)]
        for row, verdict in verdicts:
            with self.engine.begin() as connection:
                concluded = completion.conclude(connection, row, verdict)
            if concluded:
                done[verdict.state] += 1
                level = logging.INFO if verdict.adds_up else logging.ERROR
                shown = {"campaign_id": row.id, "state": verdict.state, "adds_up": verdict.adds_up}
                log.log(level, "campaign_concluded", extra=shown)
        return done
