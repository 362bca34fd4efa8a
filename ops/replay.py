"""How a letter is put back: a dead letter as it is, a parked one as today's provider code understands it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import Undecodable
from core.messages import Outgoing
from core.topology import Topology
from ops import rereading
from ops.letters import Lane, Letter
from ops.settlement import REPLAYED, Leave, Settle, Step, replayed_headers
from providers.base import Provider

REPLAY_CAP = 5  # put back so often, it will fail again: somebody has to look at it first


@dataclass(frozen=True, slots=True)
class Replay:
    """The plan of `mailward dlq replay`; `force` puts back what would certainly or probably fail again, too."""

    topology: Topology
    providers: Mapping[str, Provider]
    force: bool = False

    def __call__(self, letter: Letter) -> Step:
        """What replaying `letter` means."""
        if letter.lane is Lane.PARKED:
            return self._parked(letter)
        if isinstance(letter.content, Undecodable) and not self.force:
            return Leave(f"still failing: {words(letter.content)} (--force replays it all the same)")
        if letter.replays >= REPLAY_CAP and not self.force:
            return Leave(f"replayed {REPLAY_CAP} times or more (--force replays it all the same)")
        copy = Outgoing(self.topology.work_exchange, letter.queue, letter.body, letter.id, replayed_headers(letter))
        return Settle(REPLAYED, (copy,))

    def _parked(self, letter: Letter) -> Step:
        reading = rereading.reread(letter.content, self.providers)
        if isinstance(reading, Leave):
            return reading
        stays = tuple(f"still parked: {item.reason}" for item in reading.rest)
        if not reading.gained:
            return Leave("; ".join(sorted(set(stays))))
        again = rereading.parked_again(letter, reading.rest, self.topology)
        return Settle(REPLAYED, rereading.published(reading.events, self.topology) + again, stays=stays)


def words(error: Undecodable) -> str:
    """Why a body cannot be decoded, for people: `not JSON`, and the parser's own words."""
    return f"{error.code.replace('_', ' ').replace('json', 'JSON')}: {error.text}"
