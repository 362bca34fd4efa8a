"""Pauses between looks at a service that is away."""

import random
from collections.abc import Iterator

FIRST_S, LAST_S = 0.5, 15.0  # doubling: a restart is noticed at once, a long outage is not hammered
SLICE_S = 0.5  # a stop or a heartbeat never waits longer than this


class Pause:
    """A growing pause with jitter, so that many consumers do not come back in step."""

    def __init__(self) -> None:
        self._next_s = FIRST_S

    def reset(self) -> None:
        """Something worked: start small again."""
        self._next_s = FIRST_S

    def slices(self) -> Iterator[float]:
        """The next pause, cut into slices of at most half a second."""
        left = self._next_s * random.uniform(0.75, 1.25)
        self._next_s = min(self._next_s * 2, LAST_S)
        while left > 0:
            yield min(left, SLICE_S)
            left -= SLICE_S
