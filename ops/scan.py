"""Look through a queue without taking anything from it: all that is there is held, then returned in its order.

Three properties of quorum queues shape this (RabbitMQ 3.10 and 4.x, `rabbit_fifo` and `rabbit_quorum_queue`):

- what is returned comes to lie behind what was returned earlier and still waits, so all is held before any returns;
- a nack of many messages returns more than 32 of them in the order of a hash table, a closed channel in their own;
- a consumer without a prefetch limit gets 2,000 messages and no more, so one consumer follows another.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import pika
from pika import exceptions
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection

from core.errors import MailwardError, Outage
from ops import scan_lock
from ops.faults import cause

WINDOW = 100  # letters handed out together: enough to publish and to look up in one trip, little enough to repeat
PREFETCH, PREFETCH_LIMIT = 2000, 65_535  # of one consumer; the broker loads so many bodies at once
CONSUMERS = 30  # up to 32 consumers of one channel return their messages in the order of their names
SILENCE_S = 5.0  # nothing has come for so long: the rest is in somebody else's hands
EMPTY_S = 0.5  # the same, where the queue itself says that it has nothing left
RETURN_S = 5.0  # how long the broker may take to show again what was returned
CONNECT_TIMEOUT_S = 5
HEARTBEAT_S = 60  # longer than any wait for a confirm or for SQL


class Delivered(NamedTuple):
    """One message as it lies in the queue."""

    tag: int
    message_id: str | None
    headers: dict[str, Any]
    body: bytes


class Scan:
    """One look at the letters that are in `queue` when it begins; the only one at a time.

    Use it as a context manager: on leaving, everything that was not acked lies where it lay. Raises ScanRefused, and
    Outage when the broker is away or gets lost, which returns everything too.
    """

    def __init__(self, amqp_url: str, queue: str, prefetch: int = PREFETCH) -> None:
        self.present = 0  # letters in the queue when the scan began
        self._queue, self._prefetch = queue, prefetch
        self._parameters = pika.URLParameters(amqp_url)
        self._parameters.heartbeat = HEARTBEAT_S
        self._parameters.socket_timeout = self._parameters.stack_timeout = CONNECT_TIMEOUT_S
        self._parameters.client_properties = {"connection_name": f"mailward scan {queue}"}
        self._inbox: list[Delivered] = []
        self._last_tag = self._acked = 0
        self._consumer, self._consumers, self._consumer_after, self._consumer_until = "", 0, 0, 0

    def __enter__(self) -> Self:
        with self._outages():
            self._connection = BlockingConnection(self._parameters)
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self._disconnect)
            with self._outages():
                self._channel = self._connection.channel()
                scan_lock.lock(self._channel, self._queue)
                self.present = self._ready(self._channel)
            on_failure.pop_all()
        self._prefetch = min(max(self._prefetch, self.present // CONSUMERS + 1), PREFETCH_LIMIT)
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: object) -> None:
        try:
            with self._outages():
                self._return_all()
        except MailwardError:
            if kind is None:
                raise
        finally:
            self._disconnect()

    def windows(self) -> Iterator[list[Delivered]]:
        """The letters present at the start, in order, in lists of at most WINDOW; ends early if fewer arrive."""
        handed_out = 0
        while handed_out < self.present and self._receive():
            window = self._inbox[: min(WINDOW, self.present - handed_out)]
            del self._inbox[: len(window)]
            handed_out += len(window)
            yield window

    def ack(self, tag: int) -> None:
        """Take the letter with this tag out of the queue."""
        with self._outages():
            self._channel.basic_ack(tag)
        self._acked += 1
        if tag > self._consumer_after:
            self._consumer_until += 1  # the broker gives the consumer another one for it

    def _receive(self) -> bool:
        """Wait until the inbox holds something; False once nothing more comes."""
        since = time.monotonic()
        with self._outages():
            while not self._inbox:
                if self._last_tag >= self._consumer_until:
                    self._next_consumer()
                self._connection.process_data_events(time_limit=0.2)
                if not self._channel.is_open or self._consumer not in self._channel.consumer_tags:
                    raise Outage("scan_lost", f"the broker ended the scan of {self._queue}")
                silent_s = time.monotonic() - since
                if silent_s > SILENCE_S or (silent_s > EMPTY_S and not self._ready(self._channel)):
                    break
        return bool(self._inbox)

    def _next_consumer(self) -> None:
        if self._consumer:
            self._channel.basic_cancel(self._consumer)  # it keeps what it holds
        self._consumers += 1
        self._consumer = f"scan-{self._consumers:05}"
        self._consumer_after, self._consumer_until = self._last_tag, self._last_tag + self._prefetch
        self._channel.basic_qos(prefetch_count=self._prefetch)
        self._channel.basic_consume(self._queue, self._on_message, consumer_tag=self._consumer)

    def _on_message(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._last_tag = method.delivery_tag
        self._inbox.append(Delivered(method.delivery_tag, properties.message_id, properties.headers or {}, body))

    def _return_all(self) -> None:
        self._inbox.clear()
        while self._last_tag < self.present and self._receive():
            self._inbox.clear()
        self._channel.close()
        asking, until = self._connection.channel(), time.monotonic() + RETURN_S
        while self._ready(asking) < self._last_tag - self._acked and time.monotonic() < until:
            self._connection.sleep(0.02)

    def _ready(self, channel: BlockingChannel) -> int:
        return int(channel.queue_declare(self._queue, passive=True).method.message_count)

    def _disconnect(self) -> None:
        with contextlib.suppress(exceptions.AMQPError, OSError):
            self._connection.close()

    @contextlib.contextmanager
    def _outages(self) -> Iterator[None]:
        try:
            yield
        except exceptions.ChannelClosedByBroker as error:
            raise scan_lock.explained(self._queue, error) from error
        except (exceptions.AMQPError, OSError) as error:
            raise Outage("broker_unreachable", cause(error)) from error
