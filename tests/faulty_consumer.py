"""`python -m tests.faulty_consumer FAULT`: the events consumer with a fault at a seam that no signal can hit."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from consumer.__main__ import main
from consumer.apply_events import EventWork
from core.events import Event
from core.recipients import Deletion, RecipientStore

POISON = "resend:poison"
NEW_RECORD = b'{"eligible_since": "2026-11-15T00:00:00Z"}'  # newer than any event of the tests


def dies_before_delete() -> None:
    """Killed after the journal's commit and before the delete."""

    def delete(self: RecipientStore, pairs: Sequence[tuple[str, bytes]]) -> list[Deletion]:
        os._exit(9)

    RecipientStore.delete_if_unchanged = delete  # type: ignore[method-assign]


def dies_after_delete() -> None:
    """Killed after the delete and before the rows are marked applied."""
    real = RecipientStore.delete_if_unchanged

    def delete(self: RecipientStore, pairs: Sequence[tuple[str, bytes]]) -> list[Deletion]:
        real(self, pairs)
        os._exit(9)

    RecipientStore.delete_if_unchanged = delete  # type: ignore[method-assign]


def dies_of_poison() -> None:
    """Killed by one message, as by a crash of an extension module."""
    real = EventWork.apply

    def apply(self: EventWork, events: Sequence[Event]) -> dict[str, int]:
        if any(event.event_id == POISON for event in events):
            os._exit(9)
        return real(self, events)

    EventWork.apply = apply  # type: ignore[method-assign]


def record_is_rewritten_once() -> None:
    """Somebody signs up again between our look and our delete."""
    _rewrites(NEW_RECORD, times=1)


def record_never_rests() -> None:
    """The record changes each time between look and delete, and never says anything that protects it."""
    _rewrites(b"%d", times=1000)


def _rewrites(record: bytes, times: int) -> None:
    real = RecipientStore.delete_if_unchanged
    left = iter(range(times))

    def delete(self: RecipientStore, pairs: Sequence[tuple[str, bytes]]) -> list[Deletion]:
        number = next(left, None)
        if number is not None and pairs:
            client: Any = self._client
            client.set(pairs[0][0], record % number if b"%d" in record else record)
        return real(self, pairs)

    RecipientStore.delete_if_unchanged = delete  # type: ignore[method-assign]


FAULTS: dict[str, Callable[[], None]] = {
    fault.__name__: fault
    for fault in (dies_before_delete, dies_after_delete, dies_of_poison, record_is_rewritten_once, record_never_rests)
}

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
    sys.exit(main(["events"]))
