"""Exchanges, queues and routing keys: every name and argument of the broker, in one place.

The same declarations run unchanged on RabbitMQ 3.10 and 4.x: quorum queues written out, large positive delivery limits
(-1 means "none" on 4.x and "zero" on 3.10), at-least-once dead-lettering, which needs reject-publish. Declared
arguments can never change (406 PRECONDITION_FAILED), so what may be tuned, the delays, is part of the queue's name.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

BATCHES = "campaign-batches"
CRASH_LIMIT = 20  # deliveries before the broker takes a message away from consumers that it keeps killing
NO_LIMIT = 1_000_000  # looking at a dead letter costs one delivery; this many looks are never made


class DeclaringChannel(Protocol):
    """The two calls of a pika BlockingChannel that declaring needs (and binding)."""

    def exchange_declare(self, exchange: str, exchange_type: str, *, durable: bool) -> Any: ...
    def queue_declare(self, queue: str, *, durable: bool, arguments: dict[str, Any]) -> Any: ...
    def queue_bind(self, queue: str, exchange: str, routing_key: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class WorkQueue:
    """One work queue with its lanes: delay queues for retries, the dead-letter queue, and maybe a parked lane."""

    name: str
    delays_s: tuple[int, ...]
    parks: bool = False

    @property
    def dead_letters(self) -> str:
        return f"{self.name}-dlq"

    @property
    def parked(self) -> str:
        return f"{self.name}-parked"

    def retry(self, delay_s: int) -> str:
        """Name of the delay queue that returns a message to this queue after `delay_s` seconds."""
        return f"{self.name}.retry.{delay_s}s"


@dataclass(frozen=True, slots=True)
class Topology:
    """All names of one environment; outside production each carries the environment as a prefix."""

    prefix: str = ""
    delays_s: tuple[int, ...] = (10, 60)
    events: WorkQueue = field(init=False)
    batches: WorkQueue = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", WorkQueue(f"{self.prefix}email-events", self.delays_s, parks=True))
        object.__setattr__(self, "batches", WorkQueue(f"{self.prefix}{BATCHES}", self.delays_s))

    @property
    def work_queues(self) -> tuple[WorkQueue, ...]:
        return (self.events, self.batches)

    @property
    def work_exchange(self) -> str:
        """Direct exchange whose routing keys are the names of work queues and parked lanes."""
        return f"{self.prefix}mail.events"

    @property
    def retry_exchange(self) -> str:
        """Direct exchange whose routing keys are the names of delay queues."""
        return f"{self.prefix}mail.retry"

    @property
    def dead_letter_exchange(self) -> str:
        """Direct exchange whose routing keys are the names of work queues."""
        return f"{self.prefix}mail.dlx"


def queue_prefix(env: str) -> str:
    """Prefix of every broker name in environment `env`: none in production, else the environment and a dot."""
    return "" if env == "production" else f"{env}."


def declare(channel: DeclaringChannel, topology: Topology) -> None:
    """Declare every exchange, queue and binding; harmless to repeat, refused by the broker if arguments differ."""
    for exchange in (topology.work_exchange, topology.retry_exchange, topology.dead_letter_exchange):
        channel.exchange_declare(exchange, "direct", durable=True)
    for queue, exchange, key, arguments in _queues(topology):
        channel.queue_declare(queue, durable=True, arguments=arguments)
        channel.queue_bind(queue, exchange, key)


def queue_names(topology: Topology) -> list[str]:
    """Every queue that `declare` makes, lanes included."""
    return [queue for queue, _, _, _ in _queues(topology)]


def _queues(topology: Topology) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for work in topology.work_queues:
        yield (
            work.name,
            topology.work_exchange,
            work.name,
            _quorum(CRASH_LIMIT) | _dead_letter(topology.dead_letter_exchange, work.name),
        )
        for delay_s in work.delays_s:
            back = _quorum(NO_LIMIT) | _dead_letter(topology.work_exchange, work.name)
            yield (
                work.retry(delay_s),
                topology.retry_exchange,
                work.retry(delay_s),
                back | {"x-message-ttl": delay_s * 1000},
            )
        yield work.dead_letters, topology.dead_letter_exchange, work.name, _quorum(NO_LIMIT)
        if work.parks:
            yield work.parked, topology.work_exchange, work.parked, _quorum(NO_LIMIT)


def _quorum(delivery_limit: int) -> dict[str, Any]:
    return {"x-queue-type": "quorum", "x-delivery-limit": delivery_limit, "x-overflow": "reject-publish"}


def _dead_letter(exchange: str, key: str) -> dict[str, Any]:
    return {
        "x-dead-letter-exchange": exchange,
        "x-dead-letter-routing-key": key,
        "x-dead-letter-strategy": "at-least-once",
    }
