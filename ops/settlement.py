"""What is to become of a dead letter: settled, with what is published first and what is kept, or left. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from core.messages import ATTEMPT, REPLAYS, Outgoing, own_headers
from ops.letters import Letter

REPLAYED, RESOLVED, DISCARDED, DISMISSED = "replayed", "resolved", "discarded", "dismissed"


@dataclass(frozen=True, slots=True)
class Settle:
    """Publish `messages`, keep the bytes if `keeps`, close the letter's log rows with `closed_as` and `why`, ack."""

    closed_as: str
    messages: tuple[Outgoing, ...] = ()
    why: str = ""
    keeps: bool = False
    stays: tuple[str, ...] = ()  # reasons of the parked items that are put back among `messages`


@dataclass(frozen=True, slots=True)
class Leave:
    """The letter stays as it is; `reason` says why, the same words for the same cause."""

    reason: str


Step = Settle | Leave
Plan = Callable[[Letter], Step]


@dataclass(slots=True)
class Tally:
    """What a run came to: letters settled, letters left, and why something stays where it was."""

    settled: int = 0
    left: int = 0
    stays: Counter[str] = field(default_factory=Counter)

    def add(self, steps: Iterable[Step]) -> None:
        """Count steps that have been carried out."""
        for step in steps:
            self.settled += isinstance(step, Settle)
            self.left += isinstance(step, Leave)
            self.stays.update((step.reason,) if isinstance(step, Leave) else step.stays)


def replayed_headers(letter: Letter) -> dict[str, object]:
    """The headers of a copy that starts anew: first attempt, one replay more, nothing that a broker wrote."""
    headers = own_headers(letter.headers)
    headers.pop("last_error", None)
    return headers | {ATTEMPT: 1, REPLAYS: letter.replays + 1}


def throw_away(closed_as: str, why: str) -> Plan:
    """Settle a letter without any further effect; bytes and `why` are kept in the log."""
    return lambda letter: Settle(closed_as, why=why, keeps=True)
