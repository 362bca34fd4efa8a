"""What a verified body becomes on the broker and in the counters, whichever way it came: posted to us, or pulled."""

import uuid
from typing import Protocol

from core import parked, wire
from core.messages import Outgoing
from core.parked import Parked, ParkedReason
from core.telemetry import Counters, Series
from core.topology import Topology
from providers.base import Normalised, Request


class Source(Protocol):
    """Of a Provider, what a parked message needs."""

    @property
    def name(self) -> str: ...

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers."""
        ...


def messages(topology: Topology, source: Source, received: Request, said: Normalised) -> list[Outgoing]:
    """The messages to publish for `said`: one for each event, and one that parks the body whole if any item is."""
    exchange, work = topology.work_exchange, topology.events
    made = [Outgoing(exchange, work.name, wire.encode(event), event.event_id) for event in said.events]
    if said.parked:
        items = tuple(ParkedReason(item.index, item.reason) for item in said.parked)
        letter = Parked(source.name, source.kept_headers(received), received.body, received.received_at, items)
        made.append(Outgoing(exchange, work.parked, parked.encode(letter), f"parked:{uuid.uuid4().hex}"))
    return made


def count(counters: Counters, name: str, said: Normalised) -> None:
    """Add `said` of provider `name` to the counters; call it once the broker has confirmed the messages."""
    for event in said.events:
        counters.add(Series.ACCEPTED, name, event.kind)
    if said.parked:
        counters.add(Series.ACCEPTED, name, "parked", len(said.parked))
        counters.add(Series.PARKED, name, "", len(said.parked))
    for kind, n in said.counted.items():
        counters.add(Series.COUNTED, name, kind, n)
