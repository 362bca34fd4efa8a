"""Who waits for which answer of the broker: batches, and the messages of a channel that it has not settled yet.

Knows nothing of connections. The thread that publishes waits; everything else here belongs to the I/O thread alone.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from core.errors import Outage
from core.messages import Outgoing


class Wait:
    """One caller waiting until a deadline for something that the I/O thread settles once, as done or as failed."""

    __slots__ = ("_latch", "deadline", "error", "settled", "started_at")

    def __init__(self, timeout_s: float) -> None:
        self.started_at = time.monotonic()
        self.deadline = self.started_at + timeout_s
        self.error: Outage | None = None
        self.settled = False
        # A bare lock instead of an Event: half the cost, and every request needs one. It is made at the first use and
        # not at import, so that gevent has replaced it by then.
        self._latch = threading.Lock()
        self._latch.acquire()

    @property
    def open(self) -> bool:
        """True while somebody still waits and the deadline has not passed."""
        return not self.settled and time.monotonic() < self.deadline

    def wait(self) -> bool:
        """Block until it is settled (True) or the deadline has passed (False)."""
        return self._latch.acquire(timeout=max(0.0, self.deadline - time.monotonic()))

    def settle(self, error: Outage | None = None) -> None:
        """Done, or failed with `error`; only the first call counts."""
        if not self.settled:
            self.error, self.settled = error, True
            self._latch.release()


class Batch(Wait):
    """The messages of one publish call; done with the last confirm."""

    __slots__ = ("_missing", "messages")

    def __init__(self, messages: Sequence[Outgoing], timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.messages = messages
        self._missing = len(messages)

    def start_over(self) -> None:
        """All messages are about to be sent (again), so all confirms are awaited (again)."""
        self._missing = len(self.messages)

    def confirm_one(self) -> None:
        """The broker has taken one more message."""
        self._missing -= 1
        if not self._missing:
            self.settle()


class Probe(Wait):
    """A question whether the queue of that name exists, asked over the publisher's own connection."""

    __slots__ = ("queue",)

    def __init__(self, queue: str, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.queue = queue


class Unconfirmed:
    """The messages of one channel that were sent and neither acked nor nacked, by delivery tag, oldest first."""

    def __init__(self) -> None:
        self._by_tag: OrderedDict[int, tuple[Batch, str]] = OrderedDict()
        self._by_id: dict[str, list[Batch]] = {}

    def __len__(self) -> int:
        return len(self._by_tag)

    def add(self, tag: int, batch: Batch, message_id: str) -> None:
        """The message with `message_id` of `batch` is about to be sent under `tag`."""
        self._by_tag[tag] = batch, message_id
        self._by_id.setdefault(message_id, []).append(batch)

    def settle(self, tag: int, multiple: bool) -> Iterator[Batch]:
        """Forget the message of `tag`, with `multiple` all before it as well; yields the batch of each."""
        if not multiple:
            if tag in self._by_tag:
                yield self._forget(tag)
            return
        while self._by_tag and next(iter(self._by_tag)) <= tag:
            yield self._forget(next(iter(self._by_tag)))

    def with_message(self, message_id: str) -> Sequence[Batch]:
        """The batches that wait for a message of this id: several if a provider repeats itself quickly."""
        return tuple(self._by_id.get(message_id, ()))

    def clear(self) -> list[Batch]:
        """Forget everything; returns the unsettled batches in the order in which they were sent."""
        batches = dict.fromkeys(batch for batch, _ in self._by_tag.values() if not batch.settled)
        self._by_tag.clear()
        self._by_id.clear()
        return list(batches)

    def _forget(self, tag: int) -> Batch:
        batch, message_id = self._by_tag.pop(tag)
        waiting = self._by_id[message_id]
        waiting.remove(batch)
        if not waiting:
            del self._by_id[message_id]
        return batch
