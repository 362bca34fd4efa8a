"""Made-up dead letters and parked messages, and a provider whose bodies are lists of words."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core import parked, wire
from core.addresses import NotAnAddress, normalise
from core.events import Event, Kind
from core.parked import Parked, ParkedReason
from ops.letters import Letter, read_letter
from providers.base import Answers, Normalised, ParkedItem, Post, Request

NOON = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def event(number: int = 1, kind: Kind = Kind.COMPLAINT, verbatim: str = "") -> Event:
    """A complaint, unless told otherwise, of reader<number>@example.com."""
    address = f"reader{number}@example.com"
    return Event(f"made-up:{number}", "made-up", kind, address, verbatim or address, NOON, NOON, "made_up.rule")


def letter(
    body: bytes | None = None, headers: Mapping[str, Any] | None = None, message_id: str | None = "made-up:1"
) -> Letter:
    """A dead letter of the events queue."""
    return read_letter(1, "email-events", False, message_id, headers, wire.encode(event()) if body is None else body)


def parked_letter(body: bytes, *items: ParkedReason, provider: str = "made-up") -> Letter:
    """A parked message of the events queue."""
    content = Parked(provider, {}, body, NOON, items)
    return read_letter(1, "email-events", True, "parked:1", {"attempt": 1}, parked.encode(content))


def died(reason: str, at: datetime = NOON) -> dict[str, Any]:
    """Headers of a message that the broker dead-lettered for `reason`."""
    earlier = {"queue": "email-events.retry.10s", "reason": "expired", "time": at - timedelta(seconds=10), "count": 1}
    return {"attempt": 3, "x-death": [{"queue": "email-events", "reason": reason, "time": at, "count": 1}, earlier]}


class WordsProvider:
    """One item a word: an address is a complaint of it, `?` one that names nobody, `skip` nothing, else not understood.

    A body that begins with `!` cannot be read as a whole.
    """

    name = "made-up"
    answers = Answers()

    def normalise(self, request: Request) -> Normalised:
        if request.body.startswith(b"!"):
            return Normalised(parked=(ParkedItem(-1, "the body is not a list of words"),))
        events: list[Event] = []
        indexes: list[int] = []
        items: list[ParkedItem] = []
        for index, word in enumerate(request.body.decode().split()):
            made = replace(event(index), received_at=request.received_at)
            if word == "?":
                nobody = replace(made, recipient="", recipient_verbatim="")
                items.append(ParkedItem(index, "names nobody", nobody))
                continue
            if word == "skip":
                continue
            try:
                address = normalise(word)
            except NotAnAddress:
                items.append(ParkedItem(index, f"no such word: {word}"))
                continue
            events.append(replace(made, recipient=address.normal, recipient_verbatim=address.verbatim))
            indexes.append(index)
        return Normalised(tuple(events), tuple(items), {}, tuple(indexes))

    def verify(self, request: Request) -> str:
        raise NotImplementedError

    def kept_headers(self, request: Request) -> dict[str, str]:
        raise NotImplementedError

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        raise NotImplementedError

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        raise NotImplementedError
