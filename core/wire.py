"""The event as it travels: JSON with a schema version, read in this version and the one before.

`EventSchema` is the contract. `decode` first tries a fast reading, which accepts a strict subset of what the schema
accepts, because a marshmallow load costs more than all the other work on an event; whatever the fast reading does not
recognise goes through the schema, which either loads it or names what is wrong.
"""

import json
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from core.errors import NewerVersion, Undecodable
from core.events import Event, Kind

VERSION = 1
_KINDS = {kind.value: kind for kind in Kind}
_TEXTS = (
    "event_id", "provider", "kind", "recipient", "recipient_verbatim", "occurred_at", "received_at", "rule",
    "provider_message_id", "campaign_id", "recipient_id", "environment", "detail",
)  # fmt: skip
_texts_of = itemgetter(*_TEXTS)
_parse = json.JSONDecoder().raw_decode


class EventSchema(Schema):
    """Version 1 of the event on the wire; unknown members are ignored, so that fields can be added within a version."""

    class Meta:
        unknown = EXCLUDE

    v = fields.Integer(required=True, strict=True, validate=validate.OneOf([VERSION]), load_only=True)
    event_id = fields.String(required=True, validate=validate.Length(min=1))
    provider = fields.String(required=True, validate=validate.Length(min=1))
    kind = fields.Enum(Kind, required=True, by_value=True)
    recipient = fields.String(required=True, validate=validate.Length(min=1))
    recipient_verbatim = fields.String(required=True, validate=validate.Length(min=1))
    occurred_at = fields.AwareDateTime(required=True, format="iso", default_timezone=None)
    received_at = fields.AwareDateTime(required=True, format="iso", default_timezone=None)
    rule = fields.String(required=True)
    provider_message_id = fields.String(load_default="")
    campaign_id = fields.String(load_default="")
    recipient_id = fields.String(load_default="")
    environment = fields.String(load_default="")
    detail = fields.String(load_default="")
    single_use = fields.String(load_default="")

    @post_load
    def _to_event(self, data: dict[str, Any], **_: Any) -> Event:
        del data["v"]
        for name in ("occurred_at", "received_at"):
            data[name] = data[name].astimezone(UTC)
        return Event(**data)


_SCHEMA = EventSchema()


def encode(event: Event) -> bytes:
    """The event as UTF-8 JSON of the current version."""
    content = {
        "v": VERSION,
        "event_id": event.event_id,
        "provider": event.provider,
        "kind": event.kind.value,
        "recipient": event.recipient,
        "recipient_verbatim": event.recipient_verbatim,
        "occurred_at": event.occurred_at.isoformat(),
        "received_at": event.received_at.isoformat(),
        "rule": event.rule,
        "provider_message_id": event.provider_message_id,
        "campaign_id": event.campaign_id,
        "recipient_id": event.recipient_id,
        "environment": event.environment,
        "detail": event.detail,
    }
    if event.single_use:
        content["single_use"] = event.single_use
    return json.dumps(content, separators=(",", ":")).encode()


def decode(body: bytes) -> Event:
    """The event of a message body; raises Undecodable, or NewerVersion if a newer mailward wrote it."""
    try:
        data = _read(body)
    except (ValueError, RecursionError) as error:
        raise Undecodable("not_json", str(error)[:200]) from None
    if not isinstance(data, dict):
        raise Undecodable("not_an_object", f"the body is a JSON {type(data).__name__}")
    version = data.get("v")
    if type(version) is int and version > VERSION:
        raise NewerVersion("newer_version", f"wire version {version}, this process reads up to {VERSION}")
    return _fast(data) or _slow(data)


def _read(body: bytes) -> Any:
    """What `json.loads` makes of `body`, without its detours where the body is UTF-8 that begins with its value."""
    try:
        text = body.decode()
        value, end = _parse(text)
    except ValueError:
        return json.loads(body)
    return value if end == len(text) else json.loads(body)


def _fast(data: dict[str, Any]) -> Event | None:
    """The event if `data` has exactly the shape that `encode` writes, else None."""
    version = data.get("v")
    if type(version) is not int or version != VERSION:
        return None
    try:
        values: tuple[Any, ...] = (*_texts_of(data), data.get("single_use", ""))
    except KeyError:
        return None
    if set(map(type, values)) != {str} or not (values[0] and values[1] and values[3] and values[4]):
        return None
    if values[2] not in _KINDS:
        return None
    try:
        "".join(values).encode()  # lone surrogates, which JSON can express, no store takes
        occurred_at, received_at = datetime.fromisoformat(values[5]), datetime.fromisoformat(values[6])
    except ValueError:
        return None
    if occurred_at.tzinfo is not UTC or received_at.tzinfo is not UTC:
        return None
    return Event(
        values[0], values[1], _KINDS[values[2]], values[3], values[4], occurred_at, received_at, values[7],
        values[8], values[9], values[10], values[11], values[12], values[13],
    )  # fmt: skip


def _slow(data: dict[str, Any]) -> Event:
    try:
        event: Event = _SCHEMA.load(data)
        "".join(str(getattr(event, name)) for name in (*_TEXTS, "single_use")).encode()
    except (ValidationError, OverflowError, UnicodeEncodeError) as error:
        raise Undecodable("not_an_event", str(error)[:500]) from None
    return event
