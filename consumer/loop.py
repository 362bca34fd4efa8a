"""The one loop of every work queue, and the only place that acks, retries and dead-letters.

A batch is applied as a whole; if that fails for any reason but an outage, its messages are applied one by one, so that
a bad one never burns its neighbours' attempts. An outage is nobody's fault: the loop holds what it has and waits.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from consumer.intake import Delivery, Intake
from consumer.outage import Pause
from consumer.retry import DeadLetter, Refusals, after_failure
from consumer.stopping import DRAIN_S, Stopping
from consumer.successors import Successors
from core.errors import NewerVersion, Outage, Undecodable
from core.failures import judge

log = logging.getLogger(__name__)

HOLD_S = 600.0  # then what is held is returned once: the broker's consumer time-out (30 min) must not do it for us


class Work(Protocol):
    """What one queue's messages mean; `apply` makes a batch of them durable or raises."""

    def decode(self, body: bytes) -> Any: ...
    def apply(self, items: Sequence[Any]) -> dict[str, int]: ...
    def probe(self) -> None: ...
    def subject(self, item: Any) -> tuple[str, str]: ...


Job = tuple[Delivery, Any]  # a delivery and its decoded item


class _HandsEmpty(Exception):
    """What was in hand is given back, or will be: leave the batch."""


class Loop:
    """Takes batches from a queue and settles every message: ack, retry or dead letter."""

    def __init__(
        self,
        open_intake: Callable[[], Intake],
        work: Work,
        successors: Successors,
        stopping: Stopping,
        hold_s: float = HOLD_S,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        """`beat` is called at least every few seconds while messages are taken, and not while an outage lasts."""
        self._open_intake = open_intake
        self._work = work
        self._successors = successors
        self._stopping = stopping
        self._hold_s = hold_s
        self._beat = beat
        self._refusals = Refusals()
        self._store_pause, self._broker_pause = Pause(), Pause()
        self._holding_since: float | None = None  # the first outage since something was applied

    def run(self) -> None:
        """Consume until a stop is asked for; survives any outage of the broker and the stores."""
        while not self._stopping.asked:
            try:
                self._await_stores()
                intake = self._open_intake()
            except Outage as error:
                self._rest(error)
                continue
            try:
                self._session(intake)
            except Outage as error:
                self._rest(error)
            finally:
                intake.close()

    def _session(self, intake: Intake) -> None:
        """Work on one connection to the broker until it is lost or a stop is asked for."""
        log.info("consuming")
        while not self._stopping.asked:
            self._handle(intake, intake.take(1.0))
            self._broker_pause.reset()
            self._beat()
        rest, started = intake.stop_taking(), time.monotonic()
        while rest and time.monotonic() - started < DRAIN_S:
            self._handle(intake, rest[:1000])
            rest = rest[1000:]
        intake.give_back()

    def _handle(self, intake: Intake, deliveries: list[Delivery]) -> None:
        """Settle deliveries: first ones together, redelivered ones each alone, since one of them may kill us."""
        fresh = [one for one in deliveries if not one.redelivered]
        groups = [fresh] + [[one] for one in deliveries if one.redelivered]
        try:
            for group in groups:
                jobs = self._decoded(intake, group)
                if jobs:
                    self._apply(intake, jobs)
        except _HandsEmpty:
            return

    def _decoded(self, intake: Intake, deliveries: list[Delivery]) -> list[Job]:
        """Decode, and settle what cannot be: bytes that are no message of ours, or one of a newer version."""
        jobs = []
        for delivery in deliveries:
            try:
                jobs.append((delivery, self._work.decode(delivery.body)))
            except Undecodable as error:
                self._fail(intake, delivery, ("", ""), error)
            except NewerVersion as error:
                self._successors.postpone(delivery, error)
                intake.ack([delivery])
        return jobs

    def _apply(self, intake: Intake, jobs: list[Job]) -> None:
        while True:
            error = self._attempt(jobs)
            if error is None:
                intake.ack(delivery for delivery, _ in jobs)
                return
            if judge(error).kind is not Outage:
                self._one_by_one(intake, jobs)
                return
            self._wait_out(intake, error)

    def _one_by_one(self, intake: Intake, jobs: list[Job]) -> None:
        """Apply each job alone; a store that refuses everything makes them wait instead of failing them all."""
        waiting, refused = deque(jobs), 0
        while waiting:
            delivery, item = job = waiting.popleft()
            error = self._attempt([job])
            if error is None:
                intake.ack([delivery])
                refused = 0
                continue
            verdict = judge(error)
            if verdict.kind is Outage:
                waiting.appendleft(job)
                self._wait_out(intake, error)
            elif verdict.refusal and self._refusals.add(error):
                waiting.append(job)
                refused += 1
                if refused >= len(waiting):
                    self._wait_out(intake, error)
                    refused = 0
            else:
                self._fail(intake, delivery, self._work.subject(item), error)

    def _attempt(self, jobs: list[Job]) -> Exception | None:
        started = time.monotonic()
        try:
            outcomes = self._work.apply([item for _, item in jobs])
        except Exception as error:  # every kind of failure ends here, and `judge` says what it means
            return error
        self._refusals.success()
        self._store_pause.reset()
        self._holding_since = None
        log.info(
            "applied", extra={"messages": len(jobs), **outcomes, "ms": round((time.monotonic() - started) * 1000, 1)}
        )
        return None

    def _fail(self, intake: Intake, delivery: Delivery, subject: tuple[str, str], error: Exception) -> None:
        """Settle a failed attempt: its successor is confirmed before the original is acked."""
        step = after_failure(judge(error).kind, delivery.attempt, self._successors.delays_s)
        if isinstance(step, DeadLetter):
            self._successors.log_dead_letter(delivery, subject, error)
            intake.dead_letter(delivery)
        else:
            self._successors.retry(delivery, step, error)
            intake.ack([delivery])

    def _wait_out(self, intake: Intake, error: Exception) -> None:
        """Hold what is in hand until the stores are back; raises _HandsEmpty if it had to be given back or we stop."""
        log.warning("outage", extra={"error_type": type(error).__name__, "error": str(error)[:500]})
        since = time.monotonic()
        self._holding_since = self._holding_since or since
        while not self._stopping.asked:
            for slice_s in self._store_pause.slices():
                intake.idle(slice_s)
                if self._stopping.asked:
                    raise _HandsEmpty
            if self._holding_since and time.monotonic() - self._holding_since > self._hold_s:
                intake.stop_taking()
                intake.give_back()
                self._holding_since = None
            if self._stores_answer():
                log.info("outage_over", extra={"seconds": round(time.monotonic() - since, 1)})
                if self._holding_since:
                    return
                intake.resume_taking()
                break
        raise _HandsEmpty

    def _await_stores(self) -> None:
        """Before a subscription: wait until the stores answer, so that nothing is taken that cannot be worked on."""
        if not self._stores_answer():
            raise Outage("stores_away", "Redis or SQL does not answer")

    def _stores_answer(self) -> bool:
        try:
            self._work.probe()
        except Exception as error:  # whatever it is, the stores are not ready
            log.warning("store_away", extra={"error_type": type(error).__name__, "error": str(error)[:500]})
            return False
        return True

    def _rest(self, error: Outage) -> None:
        log.warning("reconnecting", extra={"code": error.code, "error": error.text[:500]})
        for slice_s in self._broker_pause.slices():
            self._stopping.sleep(slice_s)
