"""A publisher's connection and its one confirming channel: opened, watched, reopened.

Runs inside one I/O thread and decides only about the connection; what becomes of the messages is the listener's
business (core.publisher_io).
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

import pika
from pika import exceptions
from pika.adapters.select_connection import IOLoop

from core.errors import Outage

FIRST_BACKOFF_S, LAST_BACKOFF_S = 0.2, 5.0
GOODBYE_S = 1.0  # how long a graceful close may take before the stream is cut

logger = logging.getLogger(__name__)


class Listener(Protocol):
    """What the link tells its owner, always in the I/O thread."""

    def ready(self) -> None: ...
    def lost(self, error: Outage) -> None:
        """The connection broke; a new one is being made."""

    def failed(self, error: Outage) -> None:
        """There is no connection, the channel was closed or an alarm blocks it: nothing can be sent now."""

    def confirmed(self, frame: Any) -> None: ...
    def returned(self, channel: Any, method: Any, properties: Any, body: bytes) -> None: ...


class _Connection(pika.SelectConnection):  # type: ignore[misc]  # pika's adapters are untyped
    """A connection that can be dropped without asking the broker, and that can send many messages at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._corked: list[bytes] | None = None
        super().__init__(*args, **kwargs)

    def drop(self, reason: str) -> None:
        """Cut the stream: `close` would wait for an answer that a frozen broker never gives.

        pika's own heartbeat checker does the same; there is no public way to do it.
        """
        self._terminate_stream(exceptions.AMQPHeartbeatTimeout(reason))

    @contextmanager
    def corked(self) -> Iterator[None]:
        """Send all that is written inside the block in one piece; pika makes three system calls for each message."""
        self._corked = []
        try:
            yield
        finally:
            frames, self._corked = self._corked, None
            if frames:
                super()._output_marshaled_frames([b"".join(frames)])

    def _output_marshaled_frames(self, marshaled_frames: list[bytes]) -> None:
        if self._corked is None:
            super()._output_marshaled_frames(marshaled_frames)
        else:
            self._corked.extend(marshaled_frames)


class BrokerLink:
    """Keeps one connection to the broker. `channel` is None unless a message can be sent right now."""

    def __init__(self, loop: IOLoop, parameters: pika.ConnectionParameters, broker: str, listener: Listener) -> None:
        self.channel: Any = None
        self._loop, self._parameters, self._broker, self._listener = loop, parameters, broker, listener
        self._connection: _Connection | None = None
        self._blocked: Outage | None = None
        self._closing = False
        self._opened_at = 0.0
        self._failure = Outage("broker_unreachable")
        self._failed_at = float("-inf")
        self._backoff_s = FIRST_BACKOFF_S
        self._timer: Any = None

    @property
    def is_open(self) -> bool:
        """True if the broker should answer: connected, and no alarm keeps it from reading."""
        return self._connection is not None and self._connection.is_open and self._blocked is None

    def ensure(self) -> None:
        """Have a connection, or tell the listener at once why not: blocked, or an attempt failed a moment ago."""
        if self._blocked:
            self._listener.failed(self._blocked)
        elif self._connection is None and time.monotonic() - self._failed_at < FIRST_BACKOFF_S:
            self._listener.failed(self._failure)
        elif self._connection is None:
            self._connect()

    @contextmanager
    def corked(self) -> Iterator[None]:
        """What is published inside the block leaves in one piece at its end."""
        with self._connection.corked() if self._connection is not None else nullcontext():
            yield

    def drop(self, reason: str) -> None:
        """Give up on a connection that no longer answers, without asking the broker, and connect anew."""
        if self._connection is not None and self._connection.is_open:
            logger.warning("broker connection dropped", extra={"reason": reason})
            self._connection.drop(reason)

    def close(self) -> None:
        """Say goodbye, cut the stream if that takes too long, then stop the loop."""
        self._closing = True
        self._cancel_timer()
        connection = self._connection
        if connection is None:
            self._loop.stop()
        elif not connection.is_closing:
            connection.close()  # an attempt under way ends at once
            self._loop.call_later(GOODBYE_S, lambda: connection.drop("no answer to the goodbye"))

    def ask_for_queue(self, queue: str, answer: Callable[[Outage | None], None]) -> None:
        """Tell `answer` whether `queue` exists: a passive declare, on a channel of its own because a no closes it."""

        def declare(channel: Any) -> None:
            channel.add_on_close_callback(lambda _, reason: answer(Outage("no_queue", f"queue {queue}: {reason}")))
            channel.queue_declare(queue, passive=True, callback=lambda _: declared(channel))

        def declared(channel: Any) -> None:
            answer(None)
            channel.close()

        if self._connection is not None:
            self._connection.channel(on_open_callback=declare)

    def _connect(self) -> None:
        self._cancel_timer()
        self._connection = _Connection(
            self._parameters,
            on_open_callback=self._on_open,
            on_open_error_callback=self._on_open_error,
            on_close_callback=self._on_closed,
            custom_ioloop=self._loop,
        )

    def _on_open(self, connection: _Connection) -> None:
        self._opened_at = time.monotonic()
        connection.add_on_connection_blocked_callback(self._on_blocked)
        connection.add_on_connection_unblocked_callback(self._on_unblocked)
        connection.channel(on_open_callback=self._on_channel_open)

    def _on_channel_open(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_return_callback(self._listener.returned)
        channel.confirm_delivery(self._listener.confirmed, callback=lambda _: self._on_confirming(channel))

    def _on_confirming(self, channel: Any) -> None:
        self.channel, self._backoff_s = channel, FIRST_BACKOFF_S
        logger.info("broker connected", extra={"broker": self._broker})
        self._listener.ready()

    def _on_channel_closed(self, _channel: Any, reason: Exception) -> None:
        self.channel = None
        if isinstance(reason, exceptions.ChannelClosedByBroker) and self._connection is not None:
            self._listener.failed(Outage("refused", f"{reason.reply_code} {reason.reply_text}"))
            self._connection.channel(on_open_callback=self._on_channel_open)

    def _on_blocked(self, _connection: _Connection, frame: Any) -> None:
        self._blocked = Outage("blocked", f"the broker takes no messages: {frame.method.reason}")
        self._listener.failed(self._blocked)

    def _on_unblocked(self, _connection: _Connection, _frame: Any) -> None:
        self._blocked = None

    def _on_open_error(self, _connection: _Connection, error: BaseException) -> None:
        self._connection = None
        self._unavailable(error)

    def _on_closed(self, _connection: _Connection, error: BaseException) -> None:
        self.channel = self._connection = self._blocked = None
        if self._closing:
            self._loop.stop()
        elif time.monotonic() - self._opened_at < FIRST_BACKOFF_S:
            self._unavailable(error)  # a broker that always closes at once must not be asked in a tight loop
        else:
            self._connect()
            self._listener.lost(Outage("broker_unreachable", f"{self._broker}: {error}"))

    def _unavailable(self, error: BaseException) -> None:
        self._failed_at, self._failure = time.monotonic(), _explain(error, self._broker)
        logger.warning("broker unreachable", extra={"error": str(self._failure), "next_try_s": self._backoff_s})
        if self._closing:
            self._loop.stop()
        else:
            self._timer = self._loop.call_later(self._backoff_s, self._connect)
            self._backoff_s = min(self._backoff_s * 2, LAST_BACKOFF_S)
        self._listener.failed(self._failure)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._loop.remove_timeout(self._timer)
            self._timer = None


def _explain(error: BaseException, broker: str) -> Outage:
    """Why `broker` cannot be used, in words for the person who sets AMQP_URL."""
    if isinstance(error, exceptions.ProbableAuthenticationError):
        return Outage("access_refused", f"{broker} refuses the user name or password of AMQP_URL")
    if isinstance(error, exceptions.ProbableAccessDeniedError):
        return Outage("access_refused", f"{broker}: the virtual host of AMQP_URL is missing or closed to this user")
    cause = _cause(error)
    return Outage("broker_unreachable", f"{broker} (AMQP_URL): {type(cause).__name__} {cause}"[:300])


def _cause(error: BaseException) -> BaseException:
    """The error inside pika's wrappers; the last one where several addresses were tried."""
    wrapped = [*getattr(error, "exceptions", ()), *error.args]
    inner = [one for one in wrapped if isinstance(one, BaseException)]
    return _cause(inner[-1]) if inner else error
