"""A provider and a publisher that implement the real interfaces and do as they are told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from flask import Flask

from core.errors import Outage
from core.events import Event, Kind
from core.messages import Outgoing
from core.telemetry import Counters
from core.topology import Topology
from providers.base import Answers, Normalised, Post, Request
from webhook import doors
from webhook.app import create_app
from webhook.endpoint import Endpoint

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
TOPOLOGY = Topology("unit.")


def event(number: int, kind: Kind = Kind.COMPLAINT) -> Event:
    """A made-up event of the fake provider."""
    address = f"reader{number}@example.com"
    return Event(f"fake:{number}", "fake", kind, address, address, NOW, NOW, "fake.rule")


@dataclass
class FakeProvider:
    """Says what it is told to say; `verify` and `normalise` raise what they are told to raise."""

    name: str = "fake"
    answers: Answers = field(default_factory=lambda: Answers(deadline_s=5.0, body_limit=1000, busy_status=503))
    says: Normalised = field(default_factory=Normalised)
    verify_raises: Exception | None = None
    normalise_raises: Exception | None = None
    requests: list[Request] = field(default_factory=list)

    def verify(self, request: Request) -> str:
        self.requests.append(request)
        if self.verify_raises:
            raise self.verify_raises
        return "1 of 2"

    def normalise(self, request: Request) -> Normalised:
        if self.normalise_raises:
            raise self.normalise_raises
        return self.says

    def kept_headers(self, request: Request) -> dict[str, str]:
        return {"fake-id": request.headers.get("fake-id", "")}

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        return Post({}, body)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        return b"{}"


@dataclass
class RecordingPublisher:
    """Keeps what it is given, or fails with `outage`."""

    outage: Outage | None = None
    calls: list[list[Outgoing]] = field(default_factory=list)
    timeouts_s: list[float] = field(default_factory=list)

    @property
    def published(self) -> list[Outgoing]:
        return [message for call in self.calls for message in call]

    def publish(self, messages: Sequence[Outgoing], timeout_s: float) -> None:
        if self.outage:
            raise self.outage
        self.calls.append(list(messages))
        self.timeouts_s.append(timeout_s)


def application(
    provider: FakeProvider, publisher: RecordingPublisher, counters: Counters, through_flask: bool = False
) -> Flask:
    """The application with the fake provider as its only one, reached by the shortcut or only by the Flask route."""
    missing: Callable[[str], str] = "{} has no secret".format
    endpoint = Endpoint({provider.name: provider}, missing, publisher, TOPOLOGY, counters, lambda: NOW)
    return create_app([doors.route(endpoint)], {} if through_flask else doors.shortcuts(endpoint))
