"""The recorded payloads, and a verified request around a body."""

from datetime import UTC, datetime
from pathlib import Path

from providers.base import Request

RECEIVED_AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
PAYLOADS = Path(__file__).parents[2] / "payloads"


def recorded(provider: str, name: str) -> bytes:
    """The bytes of one recorded payload, as they would be posted."""
    return (PAYLOADS / provider / f"{name}.json").read_bytes()


def names(provider: str) -> set[str]:
    """The names of all recorded payloads of `provider`."""
    return {path.stem for path in (PAYLOADS / provider).glob("*.json")}


def posted(body: bytes, *, message_id: str = "msg_1") -> Request:
    """`body` as it comes with a message id; the signature is not looked at by normalise."""
    return Request({"svix-id": message_id}, body, RECEIVED_AT)
