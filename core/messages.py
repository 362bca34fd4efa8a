"""Our messages on the broker: what travels beside the body, and the value that a publisher takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

ATTEMPT = "attempt"  # header: 1 for the first delivery; written by us alone, never x-*, which brokers rewrite
REPLAYS = "replays"  # header: how often an operator has put this message back
FIRST_ATTEMPT: Mapping[str, object] = {ATTEMPT: 1}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to publish: persistent, mandatory and confirmed always; `message_id` is the event's id."""

    exchange: str
    routing_key: str
    body: bytes
    message_id: str
    headers: Mapping[str, object] = field(default_factory=lambda: FIRST_ATTEMPT)


def own_headers(headers: Mapping[str, object] | None) -> dict[str, object]:
    """Only our own headers: x-* ones must not be published again (a stale x-death makes RabbitMQ before 3.13 drop the
    message as a cycle, a stale x-delivery-count is believed by 4.0)."""
    return {name: value for name, value in (headers or {}).items() if not name.startswith("x-")}


def message_id_of(message_id: str | None, body: bytes) -> str:
    """The id by which operators and the dead-letter log name a message: its own, or else one made of its body."""
    return message_id or f"sha256:{sha256(body).hexdigest()[:24]}"
