"""Pauses between looks at a service that is away, or at a queue that is empty."""

import random
from collections.abc import Iterator

FIRST_S, LAST_S = 0.5, 15.0  # doubling: a restart is noticed at once, a long outage is not hammered
SLICE_S = 0.5  # a stop or a heartbeat never waits longer than this


class Pause:
    """A growing pause with jitter, so that many consumers do not come back in step."""

    def __init__(self, last_s: float = LAST_S) -> None:
        """It grows up to `last_s` seconds."""
        self._last_s = last_s
        self._next_s = FIRST_S

    def reset(self) -> None:
        """Something worked: start small again."""
        self._next_s = FIRST_S

    def slices(self, at_least_s: float = 0.0) -> Iterator[float]:
        """The next pause, of `at_least_s` seconds, cut into slices of at most half a second."""
        left = max(self._next_s * random.uniform(0.75, 1.25), at_least_s * random.uniform(1.0, 1.25))
        self._next_s = min(self._next_s * 2, self._last_s)
        while left > 0:
            yield min(left, SLICE_S)
            left -= SLICE_S
