"""Posts at the real endpoint, and what is held against it: crashes, and removals that no evidence justifies."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.fuzz.clean import unclean
from bench.fuzz.documented import evidence
from bench.fuzz.evidence import justified
from bench.fuzz.posts import post
from core import clock, wire
from core.errors import Undecodable
from core.messages import Outgoing
from core.telemetry import Counters
from core.topology import Topology
from providers import registry
from providers.base import Post, Provider
from webhook.endpoint import Endpoint

MOST_SHOWN = 20  # faults that are printed with their bodies
LONGEST_SHOWN = 3000  # bytes of a body


@dataclass
class Tally:
    """What became of the bodies of one provider; `removals` are the events that would remove somebody, and an event
    that could not be stored is a crash, too."""

    bodies: int = 0
    accepted: int = 0
    refused: int = 0
    events: int = 0
    removals: int = 0
    crashes: int = 0
    unjustified_removals: int = 0


@dataclass
class Recorder:
    """In place of the broker: keeps what it is given until it is taken."""

    messages: list[Outgoing] = field(default_factory=list)

    def publish(self, messages: Sequence[Outgoing], timeout_s: float) -> None:
        """See core.publisher.Publisher.publish."""
        self.messages += messages

    def take(self) -> list[Outgoing]:
        """Everything since the last call."""
        taken, self.messages = self.messages, []
        return taken


class Campaign:
    """Takes bodies one after the other; `tallies` has the count of each provider."""

    def __init__(self, providers: dict[str, Provider]) -> None:
        self.tallies = {name: Tally() for name in providers}
        self._topology, self._recorder = Topology(), Recorder()
        self._endpoint = Endpoint(
            providers=providers,
            missing=registry.missing,
            publisher=self._recorder,
            topology=self._topology,
            counters=Counters(),
            clock=clock.utc_now,
            fetch=lambda _url: b"",
        )
        self._shown = 0

    def post(self, name: str, body: bytes) -> None:
        """Post `body`, proven if that is possible, at the door of provider `name`, and judge what comes of it."""
        tally = self.tallies[name]
        tally.bodies += 1
        made = post(self._endpoint.providers[name], body, f"msg_{tally.bodies}", clock.utc_now())
        status = self._endpoint.answer(name, environ(made)).status
        published = self._recorder.take()
        tally.accepted += status == 200
        tally.refused += status == 401
        if status not in (200, 401) or (status == 401 and published):
            tally.crashes += 1
            self._show(name, f"answered {status}, {len(published)} messages", made.body)
        self._judge(name, made.body, published)

    def _judge(self, name: str, body: bytes, published: Sequence[Outgoing]) -> None:
        tally, found = self.tallies[name], evidence(name, body)
        for message in published:
            if message.routing_key != self._topology.events.name:
                continue
            tally.events += 1
            try:
                event = wire.decode(message.body)
            except Undecodable as error:
                tally.crashes += 1
                self._show(name, f"an event that no consumer can read: {error}", body)
                continue
            tally.removals += event.removes
            if faults := unclean(event):
                tally.crashes += 1
                self._show(name, f"an event whose {' and '.join(faults)} cannot be stored", body)
            if not justified(event, found):
                tally.unjustified_removals += 1
                self._show(name, f"{event.rule} removes {event.recipient_verbatim!r}", body)

    def _show(self, name: str, fault: str, body: bytes) -> None:
        self._shown += 1
        if self._shown <= MOST_SHOWN:
            print(f"\n{name}: {fault}\n  {body[:LONGEST_SHOWN]!r}", file=sys.stderr, flush=True)


def environ(made: Post) -> dict[str, Any]:
    """The WSGI environment of a post."""
    headers = {f"HTTP_{name.replace('-', '_').upper()}": value for name, value in made.headers.items()}
    content_type = {"CONTENT_TYPE": made.headers.get("content-type", "application/json")}
    return {**headers, **content_type, "CONTENT_LENGTH": str(len(made.body)), "wsgi.input": io.BytesIO(made.body)}
