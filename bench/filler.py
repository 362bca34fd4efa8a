"""Fill a queue fast and completely: thousands of publishes in flight, each confirmed.

Confirms are needed: RabbitMQ now and then drops an unconfirmed message on its way to a quorum queue.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pika
from pika.channel import Channel
from pika.exceptions import AMQPConnectionError

WINDOW = 5000
Message = tuple[bytes, pika.BasicProperties]


def fill(amqp_url: str, queue: str, messages: Iterable[Message]) -> None:
    """Publish all `messages` to `queue`; returns once the broker has confirmed every one, raises AMQPError if not."""
    filler = _Filler(amqp_url, queue, iter(messages))
    filler.run()


class _Filler:
    def __init__(self, amqp_url: str, queue: str, messages: Iterator[Message]) -> None:
        self._queue = queue
        self._messages = messages
        self._published = 0
        self._unconfirmed: set[int] = set()
        self._problem = "the connection was closed"
        self._connection = pika.SelectConnection(
            pika.URLParameters(amqp_url),
            on_open_callback=lambda connection: connection.channel(on_open_callback=self._opened),
            on_open_error_callback=lambda _, error: self._end(repr(error)),
            on_close_callback=lambda _, error: self._end(self._problem),
        )

    def run(self) -> None:
        self._connection.ioloop.start()
        if self._problem:
            raise AMQPConnectionError(self._problem)

    def _opened(self, channel: Channel) -> None:
        self._channel = channel
        channel.confirm_delivery(self._confirmed)
        self._publish()

    def _publish(self) -> None:
        for body, properties in islice(self._messages, WINDOW):
            self._published += 1
            self._unconfirmed.add(self._published)
            self._channel.basic_publish("", self._queue, body, properties)
        if not self._unconfirmed:
            self._problem = ""
            self._connection.close()

    def _confirmed(self, frame: Any) -> None:
        method = frame.method
        if isinstance(method, pika.spec.Basic.Nack):
            self._problem = f"the broker refused message {method.delivery_tag}"
            self._connection.close()
            return
        if method.multiple:
            self._unconfirmed = {tag for tag in self._unconfirmed if tag > method.delivery_tag}
        else:
            self._unconfirmed.discard(method.delivery_tag)
        if not self._unconfirmed:
            self._publish()

    def _end(self, problem: str) -> None:
        self._problem = problem
        self._connection.ioloop.stop()
