"""The consumer's side of the broker: one connection, one channel, deliveries in and settlements out.

Owns prefetch, careful mode and the health of the subscription. Knows nothing of what the messages mean; what is settled
how is decided in consumer.loop alone.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import pika
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.adapters.utils.connection_workflow import AMQPConnectorException

from core.errors import Outage
from core.messages import ATTEMPT, REPLAYS
from core.topology import Topology, WorkQueue, declare

HEARTBEAT_S = 30  # longer than any bounded wait on a store, short enough to notice a vanished broker
CONNECT_TIMEOUT_S = 5
# The last is what a broker causes that takes the connection and then says nothing; it is no AMQPError.
LOST = (pika.exceptions.AMQPError, OSError, AMQPConnectorException)


class Delivery(NamedTuple):
    """One message as delivered; `tag` is valid on the connection that delivered it only."""

    tag: int
    body: bytes
    message_id: str
    headers: dict[str, Any]
    redelivered: bool

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1; nonsense counts as the first."""
        value = self.headers.get(ATTEMPT, 1)
        return int(value) if isinstance(value, int) and value >= 1 else 1

    @property
    def replays(self) -> int:
        """How often an operator has replayed this message."""
        value = self.headers.get(REPLAYS, 0)
        return int(value) if isinstance(value, int) and value >= 0 else 0


class Intake:
    """A subscription to one work queue. All methods raise Outage when the broker is lost; open a new one then."""

    def __init__(
        self, amqp_url: str, topology: Topology, queue: WorkQueue, batch_size: int, prefetch: int | None = None
    ) -> None:
        """`prefetch` is how many messages may be in hand; twice a batch unless given, so that the next one travels
        while this one is worked on."""
        self._queue = queue
        self._prefetch = prefetch or 2 * batch_size
        self._batch_size = batch_size
        self._inbox: list[Delivery] = []
        self._outstanding: dict[int, None] = {}  # tags delivered and not settled, in order
        self._careful = True
        parameters = pika.URLParameters(amqp_url)
        parameters.heartbeat = HEARTBEAT_S
        parameters.socket_timeout = parameters.stack_timeout = CONNECT_TIMEOUT_S
        parameters.blocked_connection_timeout = 60
        parameters.client_properties = {"connection_name": f"mailward consumer {queue.name}"}
        try:
            self._connection = BlockingConnection(parameters)
            self._channel: BlockingChannel = self._connection.channel()
            declare(self._channel, topology)
            self._channel.add_on_cancel_callback(lambda _: None)
            self._tag = self._subscribe(1)
        except LOST as error:
            raise _lost(error) from error

    def take(self, wait_s: float) -> list[Delivery]:
        """What has arrived, at most a batch, waiting up to `wait_s` seconds if nothing has."""
        self._pump(0 if self._inbox else wait_s)
        while len(self._inbox) < self._batch_size:
            before = len(self._inbox)
            self._pump(0)
            if len(self._inbox) == before:
                break
        taken, self._inbox = self._inbox[: self._batch_size], self._inbox[self._batch_size :]
        if self._careful and any(not one.redelivered for one in taken):
            self._subscribe_wide()
        return taken

    def idle(self, seconds: float) -> None:
        """Wait, keeping the connection alive."""
        self._pump(seconds)

    def ack(self, deliveries: Iterable[Delivery]) -> None:
        """Settle deliveries as done: with one frame where everything before them is settled too."""
        tags = [one.tag for one in deliveries]
        for tag in tags:
            self._outstanding.pop(tag, None)
        if not tags:
            return
        first = next(iter(self._outstanding), None)
        if first is None or first > max(tags):
            self._guarded(lambda: self._channel.basic_ack(max(tags), multiple=True))
            return
        for tag in tags:
            self._guarded(partial(self._channel.basic_ack, tag))

    def dead_letter(self, delivery: Delivery) -> None:
        """Settle a delivery as failed for good: the broker moves it through the dead-letter exchange."""
        self._outstanding.pop(delivery.tag, None)
        self._guarded(lambda: self._channel.basic_nack(delivery.tag, requeue=False))

    def stop_taking(self) -> list[Delivery]:
        """Cancel the subscription; returns what had arrived and was not taken yet."""
        self._pump(0)
        self._guarded(lambda: self._channel.basic_cancel(self._tag))
        rest, self._inbox = self._inbox, []
        return rest

    def give_back(self) -> None:
        """Return everything unsettled to the queue."""
        self._inbox = []
        if self._outstanding:
            self._guarded(lambda: self._channel.basic_nack(max(self._outstanding), multiple=True, requeue=True))
        self._outstanding.clear()

    def resume_taking(self) -> None:
        """Subscribe again after `stop_taking`, one message at a time at first."""
        self._careful = True
        self._guarded(lambda: setattr(self, "_tag", self._subscribe(1)))

    def close(self) -> None:
        """Close the connection; what is unsettled returns to the queue."""
        try:
            self._connection.close()
        except LOST:
            return  # it was lost already, which has the same effect

    def _subscribe(self, prefetch: int) -> str:
        self._channel.basic_qos(prefetch_count=prefetch)
        return str(self._channel.basic_consume(self._queue.name, self._on_message))

    def _subscribe_wide(self) -> None:
        """Leave careful mode: a fresh message has arrived, so nothing in the queue's front has killed a consumer."""
        self._careful = False
        self._guarded(lambda: self._channel.basic_cancel(self._tag))
        self._guarded(lambda: setattr(self, "_tag", self._subscribe(self._prefetch)))

    def _on_message(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._outstanding[method.delivery_tag] = None
        self._inbox.append(
            Delivery(
                method.delivery_tag, body, properties.message_id or "", properties.headers or {}, method.redelivered
            )
        )

    def _pump(self, wait_s: float) -> None:
        self._guarded(lambda: self._connection.process_data_events(time_limit=wait_s))
        # pika does not raise when the broker closes the channel or cancels the consumer: the loop would run on, idle.
        if not self._channel.is_open or self._tag not in self._channel.consumer_tags:
            raise Outage("subscription_lost", "the broker closed the channel or cancelled the consumer")

    def _guarded(self, call: Any) -> None:
        try:
            call()
        except LOST as error:
            raise _lost(error) from error


def _lost(error: BaseException) -> Outage:
    return Outage("broker_lost", f"{type(error).__name__} {error}".strip())
