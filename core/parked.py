"""The parked message: a verified body that cannot be acted on as it is, kept whole for people and for better code."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from core.errors import NewerVersion, Undecodable

VERSION = 1


@dataclass(frozen=True, slots=True)
class ParkedReason:
    """Why one item of the body is parked; index -1 is the body as a whole."""

    index: int
    reason: str


@dataclass(frozen=True, slots=True)
class Parked:
    """One webhook request with the items that could not be handled; `body` is the raw bytes as received."""

    provider: str
    headers: Mapping[str, str]
    body: bytes
    received_at: datetime
    items: tuple[ParkedReason, ...]


class _Base64(fields.Field[bytes]):
    def _serialize(self, value: bytes | None, attr: str | None, obj: Any, **kwargs: Any) -> str:
        return base64.b64encode(value or b"").decode()

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> bytes:
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError, TypeError):
            raise ValidationError("not base64") from None


class _ReasonSchema(Schema):
    class Meta:
        unknown = EXCLUDE

    index = fields.Integer(required=True, strict=True)
    reason = fields.String(required=True)

    @post_load
    def _to_reason(self, data: dict[str, Any], **_: Any) -> ParkedReason:
        return ParkedReason(**data)


class ParkedSchema(Schema):
    """Version 1 of the parked message."""

    class Meta:
        unknown = EXCLUDE

    v = fields.Integer(required=True, strict=True, validate=validate.OneOf([VERSION]), load_only=True)
    provider = fields.String(required=True)
    headers = fields.Dict(keys=fields.String(), values=fields.String(), required=True)
    body = _Base64(required=True)
    received_at = fields.AwareDateTime(required=True, format="iso", default_timezone=None)
    items = fields.List(fields.Nested(_ReasonSchema), required=True, validate=validate.Length(min=1))

    @post_load
    def _to_parked(self, data: dict[str, Any], **_: Any) -> Parked:
        del data["v"]
        return Parked(**data | {"items": tuple(data["items"])})


_SCHEMA = ParkedSchema()


def encode(parked: Parked) -> bytes:
    """The parked message as UTF-8 JSON."""
    return json.dumps({"v": VERSION} | _SCHEMA.dump(parked), separators=(",", ":")).encode()


def decode(body: bytes) -> Parked:
    """The parked message of a body; raises Undecodable, or NewerVersion if a newer mailward wrote it."""
    try:
        data = json.loads(body)
        version = data.get("v") if isinstance(data, dict) else None
        if type(version) is int and version > VERSION:
            raise NewerVersion("newer_version", f"parked version {version}, this process reads up to {VERSION}")
        parked: Parked = _SCHEMA.load(data)
    except (ValueError, ValidationError, RecursionError) as error:
        raise Undecodable("not_a_parked_message", str(error)[:500]) from None
    return parked
