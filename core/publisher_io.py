"""The I/O thread of a publisher: takes batches, sends them, settles them.

Any thread may call `submit`, `expire` and `stop`; all else runs inside the I/O thread. Under gunicorn's gevent worker
the thread is a greenlet, made so by monkey-patching alone.
"""

import threading
import time
from collections import deque
from functools import partial
from typing import Any

import pika
from pika.adapters.select_connection import IOLoop
from pika.spec import Basic

from core.broker_link import GOODBYE_S, BrokerLink
from core.confirms import Batch, Probe, Unconfirmed, Wait
from core.errors import Outage

SILENCE_S = 1.0  # a passed deadline, and nothing confirmed for so long: the broker is frozen or the network is a hole


class PublisherIO:
    """Sends what callers hand over; a batch that loses its connection is sent again while its deadline allows."""

    def __init__(self, parameters: pika.ConnectionParameters, broker: str) -> None:
        self.finished = False
        self._inbox: deque[Wait] = deque()
        self._waiting: deque[Wait] = deque()
        self._unconfirmed = Unconfirmed()
        self._awake = False
        self._tag = 0
        self._progress_at = 0.0
        self._loop = IOLoop()
        self._link = BrokerLink(self._loop, parameters, broker, self)
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)
        self._thread.start()

    @property
    def connected(self) -> bool:
        """True if a message could be sent right now."""
        return self._link.channel is not None and self._link.is_open

    @property
    def unconfirmed(self) -> int:
        """How many messages were sent and not yet settled by the broker."""
        return len(self._unconfirmed)

    def submit(self, wait: Wait) -> None:
        """Hand over a batch or a probe; at most one wake-up of the I/O thread is under way at any time."""
        self._inbox.append(wait)  # before the flag is read: the I/O thread clears the flag before it looks here
        if not self._awake:
            self._awake = True
            self._loop.add_callback_threadsafe(self._take)

    def expire(self, wait: Wait) -> None:
        """The deadline of `wait` has passed and its caller has gone."""
        self._loop.add_callback_threadsafe(lambda: self._expire(wait))

    def stop(self, flush_s: float) -> None:
        """Wait until nothing is in flight, `flush_s` at most, say goodbye to the broker and end the thread."""
        self._loop.add_callback_threadsafe(lambda: self._stop_when_idle(time.monotonic() + flush_s))
        self._thread.join(flush_s + 2 * GOODBYE_S)

    def _run(self) -> None:
        try:
            self._loop.start()
        finally:
            self.finished = True
            self._waiting.extend(self._inbox)
            self.failed(Outage("closed", "the publisher was closed"))
            self._loop.close()

    def _take(self) -> None:
        self._awake = False
        while self._inbox:
            self._waiting.append(self._inbox.popleft())
        self._link.ensure()
        self._send_waiting()

    def _send_waiting(self) -> None:
        with self._link.corked():
            while self._waiting and self._link.channel is not None:
                wait = self._waiting.popleft()
                if wait.open and isinstance(wait, Batch):
                    self._send(wait)
                elif wait.open and isinstance(wait, Probe):
                    self._link.ask_for_queue(wait.queue, partial(self._answered, wait))

    def _send(self, batch: Batch) -> None:
        batch.start_over()
        for message in batch.messages:
            self._tag += 1
            self._unconfirmed.add(self._tag, batch, message.message_id)
            properties = pika.BasicProperties(
                content_type="application/json",
                delivery_mode=pika.DeliveryMode.Persistent.value,
                message_id=message.message_id,
                headers=message.headers,
            )
            self._link.channel.basic_publish(
                message.exchange, message.routing_key, message.body, properties, mandatory=True
            )

    def _answered(self, probe: Probe, error: Outage | None) -> None:
        self._progress_at = time.monotonic()
        probe.settle(error)

    def _expire(self, wait: Wait) -> None:
        wait.settle(Outage("confirm_timeout"))
        silent_s = time.monotonic() - max(self._progress_at, wait.started_at)
        if self._link.is_open and silent_s >= SILENCE_S:
            self._link.drop(f"no answer for {silent_s:.1f} s")

    def _stop_when_idle(self, deadline: float) -> None:
        if (self._inbox or self._waiting or self._unconfirmed) and time.monotonic() < deadline:
            self._loop.call_later(0.02, lambda: self._stop_when_idle(deadline))
        else:
            self._link.close()

    # --- what the link tells ---

    def ready(self) -> None:
        """A new channel: delivery tags start over."""
        self._tag, self._progress_at = 0, time.monotonic()
        self._send_waiting()

    def lost(self, error: Outage) -> None:
        """What is unconfirmed goes out again, first, on the connection being made; the effects are idempotent."""
        self._waiting.extendleft(reversed(self._unconfirmed.clear()))

    def failed(self, error: Outage) -> None:
        """Nothing can be sent: whoever waits is told now instead of at the deadline, and the provider tries again."""
        for wait in (*self._unconfirmed.clear(), *self._waiting):
            wait.settle(error)
        self._waiting.clear()

    def confirmed(self, frame: Any) -> None:
        """The broker acked or nacked one message, or all up to one."""
        self._progress_at = time.monotonic()
        refused = isinstance(frame.method, Basic.Nack)
        for batch in self._unconfirmed.settle(frame.method.delivery_tag, frame.method.multiple):
            if refused:
                batch.settle(Outage("refused", "the broker did not take a message (a queue is full or failing)"))
            else:
                batch.confirm_one()

    def returned(self, _channel: Any, method: Any, properties: Any, _body: bytes) -> None:
        """No queue took a message; the ack that follows means nothing, so its batch fails first."""
        for batch in self._unconfirmed.with_message(properties.message_id):
            batch.settle(Outage("unroutable", f"exchange {method.exchange} has no queue for {method.routing_key}"))
