"""What follows a message that failed: its copy in a delay queue, or the last error in the dead-letter log."""

import logging
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from consumer.intake import Delivery
from consumer.retry import Retry
from core import dead_letter_log
from core.dead_letter_log import Failure
from core.errors import MailwardError
from core.messages import ATTEMPT, Outgoing, message_id_of, own_headers
from core.publisher import Publisher
from core.telemetry import redact
from core.topology import Topology, WorkQueue

log = logging.getLogger(__name__)

CONFIRM_TIMEOUT_S = 10.0


class Successors:
    """Publishes retry copies of one work queue's messages (confirmed, or Outage) and logs its dead letters."""

    def __init__(
        self,
        publisher: Publisher,
        topology: Topology,
        queue: WorkQueue,
        engine: Engine,
        clock: Callable[[], datetime],
    ) -> None:
        self._publisher = publisher
        self._topology = topology
        self._queue = queue
        self._engine = engine
        self._clock = clock

    @property
    def delays_s(self) -> tuple[int, ...]:
        """Pauses before the second, third … attempt, in seconds."""
        return self._queue.delays_s

    def retry(self, delivery: Delivery, step: Retry, error: Exception) -> None:
        """Publish the copy for the next attempt; returns once the broker has confirmed it."""
        log.info("attempt_failed", extra=_fields(delivery, error))
        shown = redact(f"{type(error).__name__}: {error}")[:300]
        self._publish(delivery, step.delay_s, {ATTEMPT: step.attempt, "last_error": shown})

    def postpone(self, delivery: Delivery, error: Exception) -> None:
        """Let a message of a newer wire version wait until a process that can read it is here; no attempt is used."""
        log.warning("newer_version", extra=_fields(delivery, error))
        self._publish(delivery, self._queue.delays_s[-1], {})

    def log_dead_letter(self, delivery: Delivery, subject: tuple[str, str], error: Exception) -> None:
        """Write down why a message is about to be dead-lettered; the letter itself is safe without it."""
        log.error("dead_letter", extra=_fields(delivery, error))
        failure = Failure(
            queue=self._queue.name,
            message_id=message_id_of(delivery.message_id, delivery.body),
            replay=delivery.replays,
            attempt=delivery.attempt,
            failed_at=self._clock(),
            error_type=type(error).__name__,
            error=str(error),
            stack="".join(traceback.format_exception(error)),
            campaign_id=subject[0],
            recipient=subject[1],
        )
        try:
            with self._engine.begin() as connection:
                dead_letter_log.record(connection, failure)
        except SQLAlchemyError as cause:
            log.warning("dead_letter_log_failed", extra={"error_type": type(cause).__name__, "error": str(cause)[:300]})

    def _publish(self, delivery: Delivery, delay_s: int, headers: dict[str, Any]) -> None:
        copy = Outgoing(
            exchange=self._topology.retry_exchange,
            routing_key=self._queue.retry(delay_s),
            body=delivery.body,
            message_id=message_id_of(delivery.message_id, delivery.body),
            headers=own_headers(delivery.headers) | headers,
        )
        self._publisher.publish([copy], CONFIRM_TIMEOUT_S)


def _fields(delivery: Delivery, error: Exception) -> dict[str, Any]:
    return {
        "message_id": message_id_of(delivery.message_id, delivery.body),
        "attempt": delivery.attempt,
        "replays": delivery.replays,
        "code": error.code if isinstance(error, MailwardError) else "",
        "error_type": type(error).__name__,
        "error": str(error)[:500],
    }
