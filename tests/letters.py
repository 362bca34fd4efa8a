"""Dead letters made the way they come to be: by the broker, from messages that a consumer gave up."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel

from consumer.apply_events import EventWork
from core import dead_letter_log, parked
from core.clock import utc_now
from core.dead_letter_log import Failure
from core.events import Event
from core.parked import Parked, ParkedReason
from core.recipients import RecipientStore
from core.topology import CRASH_LIMIT
from tests.command_line import CommandLine
from tests.system import START, System, wait_until

Held = tuple[str, dict[str, Any], bytes]  # message id, headers, body


def ready_command_line(system: System) -> CommandLine:
    """The command line on the test's own services, with tables and topology in place."""
    system.engine  # noqa: B018 - migrates
    with system.channel():
        pass
    return CommandLine(system.environ)


def die(system: System, bodies: Sequence[Event | bytes], headers: dict[str, Any] | None = None) -> None:
    """Have the broker dead-letter a message for each of `bodies`, in order, as after a third attempt."""
    queue = system.topology.events
    before = system.depth(queue.dead_letters)
    system.publish(bodies, {"attempt": 3} if headers is None else headers)
    with system.channel() as channel:
        for _ in bodies:
            method, _properties, _body = channel.basic_get(queue.name)
            channel.basic_nack(method.delivery_tag, requeue=False)
    wait_until(lambda: system.depth(queue.dead_letters) == before + len(bodies), "dead letters")


def crash(system: System, body: Event | bytes) -> None:
    """Return a message until the broker's delivery limit takes it away."""
    queue = system.topology.events
    before = system.depth(queue.dead_letters)
    system.publish([body])
    with system.channel() as channel:
        for _ in range(CRASH_LIMIT + 1):
            wait_until(lambda: _returned(channel, queue.name), "delivered again")
    wait_until(lambda: system.depth(queue.dead_letters) == before + 1, "a dead letter")


def log_failure(system: System, message_id: str, error: str, replay: int = 0, at: datetime = START) -> None:
    """What the consumer writes down when it gives a message up."""
    with system.engine.begin() as connection:
        name = system.topology.events.name
        failure = Failure(name, message_id, replay, 3, at, "WrongType", error, "Traceback: made up")
        dead_letter_log.record(connection, failure)


def park(system: System, body: bytes, items: Iterable[ParkedReason], provider: str = "resend") -> None:
    """A parked message as the endpoint publishes it."""
    work = system.topology.events
    content = Parked(provider, {"svix-id": "msg_parked", "webhook-id": "msg_parked"}, body, START, tuple(items))
    properties = pika.BasicProperties(message_id="parked:1", delivery_mode=2, headers={"attempt": 1})
    with system.channel() as channel:
        encoded = parked.encode(content)
        channel.basic_publish(system.topology.work_exchange, work.parked, encoded, properties, mandatory=True)


def lying(system: System, queue: str) -> list[Held]:
    """What lies in a queue, in order; held all at once and returned by closing the channel, which keeps the order."""
    found: list[Held] = []
    with system.channel() as channel:
        channel.basic_qos(prefetch_count=60_000)
        count = system.depth(queue)
        channel.basic_consume(queue, lambda _c, _m, p, b: found.append((p.message_id, _own(p.headers), b)))
        wait_until(lambda: _pumped(channel) or len(found) >= count, f"{count} messages of {queue}")
        channel.close()
    wait_until(lambda: system.depth(queue) == count, "returned")
    return found


def work_off(system: System) -> dict[str, int]:
    """Do what the events consumer does with everything on the work queue; returns the outcomes."""
    settings_key = system.environ["RECIPIENT_KEY"]
    work = EventWork(RecipientStore(system.redis, settings_key), system.engine, utc_now)
    outcomes: dict[str, int] = {}
    with system.channel() as channel:
        while True:
            method, _, body = channel.basic_get(system.topology.events.name)
            if method is None:
                return outcomes
            for outcome, n in work.apply([work.decode(body)]).items():
                outcomes[outcome] = outcomes.get(outcome, 0) + n
            channel.basic_ack(method.delivery_tag)


def _returned(channel: BlockingChannel, queue: str) -> bool:
    method, _, _ = channel.basic_get(queue)
    if method is None:
        return False
    channel.basic_reject(method.delivery_tag, requeue=True)
    return True


def _pumped(channel: BlockingChannel) -> bool:
    channel.connection.process_data_events(time_limit=0.05)
    return False


def _own(headers: dict[str, Any] | None) -> dict[str, Any]:
    """Headers without the count of deliveries, which every look raises."""
    return {name: value for name, value in (headers or {}).items() if name != "x-delivery-count"}
