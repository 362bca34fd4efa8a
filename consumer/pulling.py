"""The loop of the pull consumer: pull, publish, settle the leases. It survives any outage of either side.

A message is acked only after everything it says is confirmed by our broker. What was not confirmed is given back, and
what nobody settles comes again by itself; both use up one of the queue's retries, after which Cloudflare drops the
message. So nothing is pulled while our broker would not take it.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from consumer.outage import Pause
from consumer.pulled import Job, Reader, counts, settlement
from consumer.stopping import Stopping
from core.errors import MailwardError, Outage
from core.publisher import Publisher
from core.telemetry import Counters, Series
from core.topology import WorkQueue
from providers import outgoing
from providers.cloudflare_message import Pulled
from providers.cloudflare_queue import CloudflareQueue, QueueAway, QueueRefused, Settlement
from providers.cloudflare_reading import NAME

log = logging.getLogger(__name__)

PACE_S = 0.6  # between pulls: with the acks 200 requests a minute, of 240 that Cloudflare allows a user altogether
IDLE_S = 5.0  # at most, between looks at an empty queue
CONFIRM_S = 5.0
AGAIN_S = 30  # before a message that was given back comes again: longer than most restarts of a broker
REFUSED_S = 30.0  # at least, before asking again what a person must mend first
OF_ONE_MESSAGE = frozenset({"refused", "unroutable"})  # codes of outages that need not concern the others


class Pulling:
    """Moves what a Cloudflare Queue holds to our work queue, until a stop is asked for."""

    def __init__(
        self,
        queue: CloudflareQueue,
        reader: Reader,
        publisher: Publisher,
        work: WorkQueue,
        counters: Counters,
        stopping: Stopping,
        clock: Callable[[], datetime],
        beat: Callable[[], None],
    ) -> None:
        """`work` must exist before anything is pulled; `beat` is called after each turn in which nothing failed."""
        self._queue, self._reader = queue, reader
        self._publisher, self._work = publisher, work
        self._counters, self._stopping = counters, stopping
        self._clock, self._beat = clock, beat
        self._idle, self._trouble = Pause(IDLE_S), Pause()
        self._owed: Settlement | None = None  # of the last pull, until the API has heard of it

    def run(self) -> None:
        """Turn after turn; one that has begun when a stop is asked for is finished."""
        log.info("pulling")
        while not self._stopping.asked:
            try:
                count = self._turn()
            except MailwardError as error:
                self._rest_after(error)
                continue
            self._beat()
            self._trouble.reset()
            if count:
                self._idle.reset()
                self._stopping.sleep(PACE_S)
            else:
                self._rest(self._idle.slices())

    def _turn(self) -> int:
        """Pull once and settle what came, returning how many that were. Raises what failed, after settling."""
        self._settle()
        self._publisher.require_queue(self._work.name, CONFIRM_S)
        leases = self._queue.pull(self._clock())
        jobs = [self._reader.job(lease) for lease in leases]
        confirmed, trouble = self._publish(jobs)
        if jobs:
            self._owed = settlement(jobs, confirmed, AGAIN_S)
            self._tell(leases, confirmed, trouble)
        self._settle()
        if trouble is not None:
            raise trouble
        return len(jobs)

    def _publish(self, jobs: list[Job]) -> tuple[list[Job], Outage | None]:
        """Those of `jobs` of which everything is confirmed, and why it is not all of them.

        All at once; one by one where the broker took some and not others.
        """
        try:
            self._publisher.publish([message for job in jobs for message in job.messages], CONFIRM_S)
        except Outage as error:
            trouble = error
        else:
            return jobs, None
        confirmed: list[Job] = []
        for job in jobs if len(jobs) > 1 else ():
            if trouble.code not in OF_ONE_MESSAGE:
                break
            try:
                self._publisher.publish(job.messages, CONFIRM_S)
            except Outage as error:
                trouble = error
            else:
                confirmed.append(job)
        return confirmed, trouble if len(confirmed) < len(jobs) else None

    def _settle(self) -> None:
        """Tell the API what has become of the last pull, which is owed until it has heard it: late is honoured too."""
        if self._owed is None:
            return
        try:
            self._queue.settle(self._owed)
        except QueueRefused as error:
            if not error.for_all:
                self._owed = None  # what it does not understand now, it never will; the messages come again
            raise
        self._owed = None

    def _tell(self, leases: Sequence[Pulled], confirmed: Sequence[Job], trouble: Outage | None) -> None:
        again = len(leases) - len(confirmed)
        for job in confirmed:
            outgoing.count(self._counters, NAME, job.said)
        if trouble is not None:
            self._counters.add(Series.BUSY, NAME, trouble.code, again)
        seen_before = sum(lease.attempts > 1 for lease in leases)
        log.info("pulled", extra={"provider": NAME, "again": again, "seen_before": seen_before, **counts(confirmed)})

    def _rest_after(self, error: MailwardError) -> None:
        said = {"code": error.code, "error": error.text[:700]}
        if isinstance(error, QueueRefused):
            log.error("cloudflare_refuses", extra=said)
            self._rest(self._trouble.slices(REFUSED_S))
        else:
            log.warning("outage", extra=said)
            self._rest(self._trouble.slices(error.retry_after_s if isinstance(error, QueueAway) else 0.0))

    def _rest(self, slices: Iterable[float]) -> None:
        for slice_s in slices:
            self._stopping.sleep(slice_s)
