"""How an operator completes a parked item that lacks nothing but its recipient. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.addresses import Address
from core.events import Event
from core.topology import Topology
from ops import rereading
from ops.letters import Letter
from ops.settlement import RESOLVED, Leave, Settle, Step
from providers.base import ParkedItem, Provider


@dataclass(frozen=True, slots=True)
class Resolve:
    """The plan of `mailward dlq resolve`: publish the item as events about `recipients`, and keep the body in the log.

    `index` says which item of the body; None will do where only one lacks its recipient.
    """

    topology: Topology
    providers: Mapping[str, Provider]
    recipients: tuple[Address, ...]
    index: int | None = None

    def __call__(self, letter: Letter) -> Step:
        """What resolving `letter` means."""
        reading = rereading.reread(letter.content, self.providers)
        if isinstance(reading, Leave):
            return reading
        item = self._item(reading.rest)
        if isinstance(item, Leave):
            return item
        rest = tuple(one for one in reading.rest if one is not item)
        messages = rereading.published(reading.events + self._events(item), self.topology)
        return Settle(
            RESOLVED,
            messages + rereading.parked_again(letter, rest, self.topology),
            why=f"item {item.index} is about {', '.join(one.normal for one in self.recipients)}",
            keeps=True,
            stays=tuple(f"still parked: {one.reason}" for one in rest),
        )

    def _item(self, rest: tuple[ParkedItem, ...]) -> ParkedItem | Leave:
        """The item that is meant."""
        lacking = [item for item in rest if item.unaddressed is not None]
        meant = [item for item in lacking if self.index in (None, item.index)]
        if len(meant) == 1:
            return meant[0]
        if meant:
            return Leave(f"several items lack a recipient: choose one with --index, of {_indexes(meant)}")
        if lacking:
            return Leave(f"item {self.index} does not lack its recipient alone; {_indexes(lacking)} does")
        return Leave("no item lacks its recipient alone: replay it after an upgrade, or dismiss it")

    def _events(self, item: ParkedItem) -> tuple[Event, ...]:
        """The events that `item` would have been, one for each recipient."""
        if item.unaddressed is None:
            return ()
        return tuple(
            replace(
                item.unaddressed,
                event_id=f"{item.unaddressed.event_id}:{address.normal}",
                recipient=address.normal,
                recipient_verbatim=address.verbatim,
                single_use="",  # the operator vouches for it; and one proof could not serve several events
            )
            for address in self.recipients
        )


def _indexes(items: list[ParkedItem]) -> str:
    return ", ".join(str(item.index) for item in items)
