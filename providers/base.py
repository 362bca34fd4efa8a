"""The one interface of every email provider: prove, normalise, sign.

A provider module owns its scheme of proof, the shape of its payloads and its answer codes. It never touches the broker,
Redis or SQL, and it never decides what is deleted: it only says what happened, to whom, and by which rule it knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from core.events import Event, Kind


class ProofRefused(Exception):
    """The signature or credentials are missing or wrong: 401. `reason` is one of a closed list of short words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


PUBLIC_TEST = "public test secret"
"""What `verify` returns for an empty test post whose secret everybody knows: it opens the door for nothing else."""


class ProofUnavailable(Exception):
    """The proof could not be checked for a reason of ours: the busy answer, so that the provider tries again."""


@dataclass(frozen=True, slots=True)
class Request:
    """A webhook post as received: header names in lower case, the body's raw bytes, and when it came (aware UTC)."""

    headers: Mapping[str, str]
    body: bytes
    received_at: datetime


@dataclass(frozen=True, slots=True)
class ParkedItem:
    """One item of a body that cannot be understood, or would remove but names no single recipient.

    `index` counts the items of the body from 0; -1 is the body as a whole. `reason` is a short sentence for operators.
    `unaddressed` is, of an item that lacks nothing but its recipient, the event it would be: with both recipient fields
    empty, for an operator to fill in.
    """

    index: int
    reason: str
    unaddressed: Event | None = None


@dataclass(frozen=True, slots=True)
class CountedItem:
    """An item that is only counted, and the rule that said so; `index` as that of a ParkedItem."""

    index: int
    kind: Kind
    rule: str


@dataclass(frozen=True, slots=True)
class Normalised:
    """What a verified body says: events to queue, items to park, and how many items of which kind are only counted.

    `indexes` has, for each event in order, the index of the item it comes from; a provider whose bodies are one item
    leaves it empty. `confirm_url` is an address that the provider wants called once, to prove that we want its posts.
    `counted_items` are those of `counted` one by one, for people who ask why (`mailward classify`).
    """

    events: tuple[Event, ...] = ()
    parked: tuple[ParkedItem, ...] = ()
    counted: Mapping[Kind, int] = field(default_factory=dict)
    indexes: tuple[int, ...] = ()
    confirm_url: str = ""
    counted_items: tuple[CountedItem, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Post:
    """A webhook to send: the headers of its proof and content type, and the body, which may hold a proof itself."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answers:
    """How this provider wants to be answered: bounds it imposes and the status that makes it try again.

    `probes` are the methods besides POST with which it asks, without proof, whether the address answers 200.
    """

    deadline_s: float = 5.0
    body_limit: int = 2 * 1024 * 1024  # bytes
    busy_status: int = 503
    probes: frozenset[str] = frozenset()


class Scheme(Protocol):
    """A way of proof, made ready with the secrets of one provider."""

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        ...

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Provider.sign."""
        ...


class Provider(Protocol):
    """A configured provider; a provider without its secret is never constructed (providers.registry)."""

    @property
    def name(self) -> str: ...

    @property
    def answers(self) -> Answers: ...

    def verify(self, request: Request) -> str:
        """Check the proof over the raw bytes; returns which secret matched ("1 of 2").

        Raises ProofRefused or ProofUnavailable.
        """
        ...

    def normalise(self, request: Request) -> Normalised:
        """Read a verified body. Never raises for any bytes: what it cannot read comes back as parked."""
        ...

    def kept_headers(self, request: Request) -> dict[str, str]:
        """The headers that `normalise` needs, for the parked message, so that a replay reads the same thing again."""
        ...

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """A post of `body` that `verify` accepts, for tests and `mailward send-test-event`.

        Raises ValueError, in words for an operator, where that cannot be: a key that the provider alone holds, say.
        """
        ...

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """A body as the provider would post it for `kind` about `recipient`; ValueError where it has no such event."""
        ...
