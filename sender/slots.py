"""How many provider calls a process makes at once: what comes before and after a call needs no slot."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOK_S = 0.5  # how often a worker that waits for a slot looks whether it should stop


class Slots:
    """`most` calls at once; whoever waits, for a slot or for anything else before a call, gives up once `stopped` says
    so."""

    def __init__(self, most: int, stopped: Callable[[], bool]) -> None:
        self._free = threading.Semaphore(most)
        self.stopped = stopped

    @contextmanager
    def one(self) -> Iterator[bool]:
        """A slot for the length of the block; False instead where a stop came first."""
        taken = False
        while not taken and not self.stopped():
            taken = self._free.acquire(timeout=LOOK_S)
        try:
            yield taken
        finally:
            if taken:
                self._free.release()
