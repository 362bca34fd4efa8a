"""The log of calls: each is noted when it arrives, and what became of it when that is known."""

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

MOST = 200_000  # calls; older ones are forgotten


@dataclass(slots=True)
class Arrival:
    """One call. `result` is running, accepted, replayed, or the name of a refusal; `fault` what struck after that."""

    time: float  # seconds since 1970 by the machine's clock
    key: str
    size: int = 0  # bytes
    mails: int = 0
    result: str = "running"
    fault: str = ""
    status: int = 0  # 0: no answer, or none yet

    def line(self) -> str:
        """One line of NDJSON, the moment in words besides."""
        at = datetime.fromtimestamp(self.time, UTC).isoformat()
        return json.dumps({"at": at, **asdict(self)}, separators=(",", ":")) + "\n"


class Arrivals:
    """The last calls, oldest first, and how many there were by result."""

    def __init__(self) -> None:
        self._calls: deque[Arrival] = deque(maxlen=MOST)

    def open(self, time: float, key: str) -> Arrival:
        """Note a call that just arrived."""
        arrival = Arrival(time, key)
        self._calls.append(arrival)
        return arrival

    def lines(self, since: float, key: str) -> Iterator[str]:
        """The calls that arrived after `since`, with this key unless it is empty, as NDJSON."""
        for arrival in list(self._calls):
            if arrival.time > since and (not key or arrival.key == key):
                yield arrival.line()

    def results(self) -> dict[str, int]:
        """How many of the calls had which result."""
        counts: dict[str, int] = {}
        for arrival in self._calls:
            counts[arrival.result] = counts.get(arrival.result, 0) + 1
        return counts
