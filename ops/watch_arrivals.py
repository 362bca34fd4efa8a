"""Copies of what arrives at the broker, from a queue of our own that can neither slow nor block a publisher."""

import time
from types import TracebackType
from typing import Any, Self

from pika.exceptions import AMQPError

from core import parked, wire
from core.errors import NewerVersion, Undecodable
from core.messages import ATTEMPT
from core.topology import Topology
from ops.broker_connection import connect
from ops.watch_line import line, masked

KEPT = 1000  # messages; when we are slower than the events, the oldest copies are dropped


class Tap:
    """A temporary queue bound beside the work queue, gone with its connection; use it in a with block."""

    def __init__(self, amqp_url: str, topology: Topology, show_addresses: bool) -> None:
        self._amqp_url, self._topology, self._show = amqp_url, topology, show_addresses
        self._lines: list[str] = []

    def __enter__(self) -> Self:
        self._connection = connect(self._amqp_url, "watch")
        try:
            self._bind()
        except AMQPError:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._connection.is_open:
            self._connection.close()

    def take(self, wait_s: float) -> list[str]:
        """A line for each message that arrives within `wait_s` seconds. Raises pika's errors."""
        until = time.monotonic() + wait_s
        while (left_s := until - time.monotonic()) > 0:
            self._connection.process_data_events(time_limit=left_s)
        self._require_work_queues()
        lines, self._lines = self._lines, []
        return lines

    def _bind(self) -> None:
        self._channel = self._connection.channel()
        self._require_work_queues()
        arguments = {"x-max-length": KEPT, "x-overflow": "drop-head"}
        name = self._channel.queue_declare("", exclusive=True, auto_delete=True, arguments=arguments).method.queue
        for queue in self._watched():
            self._channel.queue_bind(name, self._topology.work_exchange, queue)
        self._channel.basic_consume(name, self._on_message, auto_ack=True)

    def _watched(self) -> list[str]:
        return [self._topology.events.name, self._topology.events.parked]

    def _require_work_queues(self) -> None:
        # Were one missing, ours would make its messages routable, and the broker would confirm what nobody keeps.
        for queue in self._watched():
            self._channel.queue_declare(queue, passive=True)

    def _on_message(self, _channel: Any, method: Any, properties: Any, body: bytes) -> None:
        try:
            self._lines += (
                self._parked(body)
                if method.routing_key.endswith("-parked")
                else [self._event(body, (properties.headers or {}).get(ATTEMPT, 1))]
            )
        except (Undecodable, NewerVersion) as error:
            self._lines.append(f"a message that cannot be read: {error.code}, id {properties.message_id}")

    def _event(self, body: bytes, attempt: object) -> str:
        event = wire.decode(body)
        outcome = "arrived" if attempt == 1 else f"attempt {attempt}"
        address = masked(event.recipient, self._show)
        return line(event.received_at, event.provider, event.kind.value, event.rule, outcome, address, event.event_id)

    def _parked(self, body: bytes) -> list[str]:
        letter = parked.decode(body)
        return [
            line(letter.received_at, letter.provider, "-", item.reason, "parked", "-", f"item {item.index}")
            for item in letter.items
        ]
