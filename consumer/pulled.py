"""From a leased message to what must be on our broker before the lease is settled."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from core.attempt import Attempt
from core.messages import Outgoing
from core.topology import Topology
from providers import outcome, outgoing, payload
from providers.base import Normalised, Request
from providers.cloudflare_message import CONTENT_TYPE, Pulled
from providers.cloudflare_queue import Settlement
from providers.cloudflare_reading import Reading

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """What one leased message says, and the messages to publish for it: none where it is only counted."""

    lease_id: str
    said: Normalised
    messages: list[Outgoing]


class _AsGiven:
    """Of a body that could not even be decoded, a parked message keeps how it was said to be encoded."""

    name = Reading.name

    def kept_headers(self, request: Request) -> dict[str, str]:
        return dict(request.headers)


class Reader:
    """Makes jobs of leased messages, of every one: what cannot be read is parked, for the queue would not keep it."""

    def __init__(self, reading: Reading, topology: Topology) -> None:
        self._reading, self._topology = reading, topology

    def job(self, lease: Pulled) -> Job:
        """The job of `lease`. Never raises."""
        try:
            received = Request({}, lease.content(), lease.queued_at)
        except payload.Unreadable as error:
            received = Request({CONTENT_TYPE: lease.content_type}, lease.raw(), lease.queued_at)
            return self._job(lease, received, outcome.parked(outcome.WHOLE_BODY, str(error)), _AsGiven())
        with Attempt(lambda error: self._crashed(lease, received, error)) as attempt:
            attempt.answer = self._job(lease, received, self._reading.normalise(received), self._reading)
        return attempt.answer

    def _crashed(self, lease: Pulled, received: Request, error: Exception) -> Job:
        # A bug of ours. The queue would give the message back to us a few times only; parked, it waits for the mended
        # code (`mailward dlq replay`).
        log.error("reading crashed", exc_info=error)
        reason = f"reading it failed: {type(error).__name__}"
        return self._job(lease, received, outcome.parked(outcome.WHOLE_BODY, reason), self._reading)

    def _job(self, lease: Pulled, received: Request, said: Normalised, source: outgoing.Source) -> Job:
        return Job(lease.lease_id, said, outgoing.messages(self._topology, source, received, said))


def settlement(jobs: Sequence[Job], confirmed: Sequence[Job], delay_s: int) -> Settlement:
    """What to tell the queue: the `confirmed` ones of `jobs` are done, the others come again after `delay_s`."""
    done = tuple(job.lease_id for job in confirmed)
    return Settlement(done, tuple(job.lease_id for job in jobs if job.lease_id not in done), delay_s)


def counts(confirmed: Sequence[Job]) -> dict[str, int]:
    """What was accepted, for the log."""
    return {
        "messages": len(confirmed),
        "queued": sum(len(job.said.events) for job in confirmed),
        "parked": sum(len(job.said.parked) for job in confirmed),
        "counted": sum(sum(job.said.counted.values()) for job in confirmed),
    }
