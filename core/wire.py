"""The event as it travels: JSON with a schema version, read in this version and the one before.

`EventSchema` is the contract. `decode` first tries a fast reading, which accepts a strict subset of what the schema
accepts, because a marshmallow load costs more than all the other work on an event; whatever the fast reading does not
recognise goes through the schema, which either loads it or names what is wrong.
"""

import json
from dataclasses import astuple
from datetime import UTC
from typing import Any

import msgspec
from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from core.errors import NewerVersion, Undecodable
from core.events import Event, Kind

VERSION = 1
_VERSION_KEY = b'"v":'
_BEGINNING = b'{"v":%d,' % VERSION
_decode = msgspec.json.Decoder(Event).decode


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
    if event := _fast(body):
        return event
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Undecodable("not_json", str(error)[:200]) from None
    if not isinstance(data, dict):
        raise Undecodable("not_an_object", f"the body is a JSON {type(data).__name__}")
    version = data.get("v")
    if type(version) is int and version > VERSION:
        raise NewerVersion("newer_version", f"wire version {version}, this process reads up to {VERSION}")
    return _slow(data)


def _fast(body: bytes) -> Event | None:
    """The event if `body` is what `encode` writes, as far as this can be seen quickly; else None."""
    if not body.startswith(_BEGINNING) or body.count(_VERSION_KEY) != 1:
        return None
    try:
        event = _decode(body)  # refuses other types, unknown kinds and lone surrogates
    except msgspec.DecodeError:
        return None
    if event.occurred_at.tzinfo is not UTC or event.received_at.tzinfo is not UTC:
        return None
    texts = event.event_id, event.provider, event.recipient, event.recipient_verbatim
    return event if all(texts) else None


def _slow(data: dict[str, Any]) -> Event:
    try:
        event: Event = _SCHEMA.load(data)
        "".join(map(str, astuple(event))).encode()
    except (ValidationError, OverflowError, UnicodeEncodeError) as error:
        raise Undecodable("not_an_event", str(error)[:500]) from None
    return event
