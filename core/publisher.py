"""Publish to RabbitMQ and know that it arrived: persistent, mandatory, confirmed, within a deadline.

One connection per process, owned by one I/O thread (core.publisher_io); any number of threads or greenlets may
publish. Nothing connects before the first publish, and a forked process gets its own connection, so a publisher may be
made before gunicorn forks.
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import replace

import pika

from config.parsers import mask_url
from core.confirms import Batch, Probe, Wait
from core.errors import Outage
from core.messages import Outgoing
from core.publisher_io import PublisherIO

MESSAGES_LIMIT = 20_000  # in flight; several seconds of the broker's best rate, so more would only expire
BYTES_LIMIT = 64 * 1024 * 1024
SHORT_STRING_LIMIT = 255  # bytes; AMQP 0-9-1 has no longer message id
FLUSH_S = 5.0


class Publisher:
    """A door to the broker that says either "it has your messages" or why not."""

    def __init__(self, amqp_url: str, *, connection_name: str) -> None:
        """`amqp_url` as in the setting AMQP_URL; `connection_name` is what the broker's operator sees."""
        self._parameters = _parameters(amqp_url, connection_name)
        self._broker = mask_url(amqp_url)
        self._by_process: dict[int, _Gate] = {}

    @property
    def connected(self) -> bool:
        """True if this process has a connection over which a message could be sent right now."""
        gate = self._by_process.get(os.getpid())
        return gate is not None and gate.io is not None and gate.io.connected

    def publish(self, messages: Sequence[Outgoing], timeout_s: float) -> None:
        """Return once the broker has confirmed every one of `messages`, which go out at once.

        Raises Outage if that is not certain within `timeout_s` seconds; some may have arrived all the same. Its code:
        broker_unreachable, access_refused, blocked, refused, unroutable, confirm_timeout, overloaded or closed.
        """
        if messages:
            messages = [_publishable(message) for message in messages]
            self._gate().run(Batch(messages, timeout_s), len(messages), sum(len(message.body) for message in messages))

    def require_queue(self, queue: str, timeout_s: float) -> None:
        """Return if a message could be published now and `queue` exists; raises Outage otherwise."""
        self._gate().run(Probe(queue, timeout_s), 1, 0)

    def close(self) -> None:
        """Wait for what is in flight (at most 5 s), close this process's connection and end its thread."""
        gate = self._by_process.pop(os.getpid(), None)
        if gate is not None and gate.io is not None:
            gate.io.stop(FLUSH_S)

    def _gate(self) -> "_Gate":
        pid = os.getpid()
        # No lock: one inherited by a fork may be held by a thread that does not exist here. setdefault is atomic.
        return self._by_process.get(pid) or self._by_process.setdefault(pid, _Gate(self._parameters, self._broker))


class _Gate:
    """One process's share of a publisher: its I/O thread, and how much is on its way through it."""

    def __init__(self, parameters: pika.ConnectionParameters, broker: str) -> None:
        self.io: PublisherIO | None = None
        self._parameters, self._broker = parameters, broker
        self._lock = threading.Lock()
        self._messages = self._bytes = 0

    def run(self, wait: Wait, messages: int, size: int) -> None:
        """Hand `wait` over and return when it is done; raises its Outage."""
        with self._lock:
            io = self._enter(messages, size)
        try:
            io.submit(wait)
            if not wait.wait():
                io.expire(wait)
                raise Outage("confirm_timeout", f"{self._broker} did not confirm in time")
        finally:
            with self._lock:
                self._messages -= messages
                self._bytes -= size
        if wait.error is not None:
            raise Outage(wait.error.code, wait.error.text)  # one error may fail many batches; each gets its own

    def _enter(self, messages: int, size: int) -> PublisherIO:
        if self.io is None or self.io.finished:
            self.io = PublisherIO(self._parameters, self._broker)
        waiting = max(self._messages, self.io.unconfirmed)
        # A single call may be larger than the limit: it would never fit otherwise.
        if waiting and (waiting + messages > MESSAGES_LIMIT or self._bytes + size > BYTES_LIMIT):
            raise Outage("overloaded", f"{waiting} messages are waiting for {self._broker} already")
        self._messages += messages
        self._bytes += size
        return self.io


def _parameters(amqp_url: str, connection_name: str) -> pika.URLParameters:
    parameters = pika.URLParameters(amqp_url)
    if parameters.heartbeat is None:
        parameters.heartbeat = 10  # seconds; RabbitMQ advises 5 to 20, its default of 60 notices a dead peer too late
    # Under an alarm the connection is kept: a new one would not know of the alarm until it has published into it.
    parameters.blocked_connection_timeout = None
    # Seconds; below the 5 s in which most webhooks must be answered.
    parameters.socket_timeout = parameters.stack_timeout = 4
    parameters.connection_attempts = 1  # core.broker_link repeats
    parameters.client_properties = {"connection_name": connection_name}
    return parameters


def _publishable(message: Outgoing) -> Outgoing:
    """`message` with an id that AMQP can carry; ids come from providers, and the body has the full one."""
    if len(message.message_id) <= SHORT_STRING_LIMIT and message.message_id.isascii():
        return message
    encoded = message.message_id.encode(errors="backslashreplace")
    if len(encoded) <= SHORT_STRING_LIMIT:
        return replace(message, message_id=encoded.decode())
    return replace(message, message_id=f"sha256:{hashlib.sha256(encoded).hexdigest()}")
