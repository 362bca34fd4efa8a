"""A parked body read again with today's provider code: what is understood now, and what still is not. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from core import parked, wire
from core.events import Event
from core.messages import Outgoing
from core.parked import Parked, ParkedReason
from core.topology import Topology
from ops.letters import Content, Letter
from ops.settlement import Leave, replayed_headers
from providers.base import Normalised, ParkedItem, Provider, Request

WHOLE_BODY = -1


@dataclass(frozen=True, slots=True)
class Reading:
    """Of the items that were parked: the events of those understood now, and the `rest`.

    `gained` says whether that is more than was understood before.
    """

    events: tuple[Event, ...]
    rest: tuple[ParkedItem, ...]
    gained: bool


def reread(content: Content, providers: Mapping[str, Provider]) -> Reading | Leave:
    """Read a parked body again; only the items that the message lists count, the others went their way long ago."""
    if not isinstance(content, Parked):
        return Leave(f"not a parked message that this version can read: {content}")
    provider = providers.get(content.provider)
    if provider is None:
        return Leave(f"provider {content.provider} is not configured here, and only its code can read the body")
    return _compared(content, provider.normalise(Request(content.headers, content.body, content.received_at)))


def published(events: Iterable[Event], topology: Topology) -> tuple[Outgoing, ...]:
    """The messages of `events`, as the endpoint would have published them."""
    work = topology.events
    return tuple(Outgoing(topology.work_exchange, work.name, wire.encode(event), event.event_id) for event in events)


def parked_again(letter: Letter, rest: Iterable[ParkedItem], topology: Topology) -> tuple[Outgoing, ...]:
    """The parked message with the items of `rest` alone, under its old id; nothing where nothing is left."""
    items = tuple(ParkedReason(item.index, item.reason) for item in rest)
    if not items or not isinstance(letter.content, Parked):
        return ()
    body = parked.encode(replace(letter.content, items=items))
    return (Outgoing(topology.work_exchange, topology.events.parked, body, letter.id, replayed_headers(letter)),)


def _compared(content: Parked, said: Normalised) -> Reading:
    listed = {item.index for item in content.items}
    whole = next((item for item in said.parked if item.index == WHOLE_BODY), None)
    if whole is not None:
        return Reading((), tuple(replace(whole, index=item.index) for item in content.items), gained=False)
    rest = tuple(item for item in said.parked if {item.index, WHOLE_BODY} & listed)
    unread = {item.index for item in rest}
    # A provider whose bodies are one item gives no indexes.
    indexed = zip(said.events, said.indexes or (0,) * len(said.events), strict=True)
    events = tuple(event for event, index in indexed if {index, WHOLE_BODY} & listed and index not in unread)
    return Reading(events, rest, gained=bool(events) or len(rest) < len(listed))
