"""What a request says besides its route: a small JSON body, and the key by which a repeat is recognised."""

import json
import re
from typing import Any

from flask import request
from marshmallow import Schema, fields, validate
from werkzeug.exceptions import BadRequest, ClientDisconnected

from webhook.operation import Meaning

BODY_LIMIT = 4 * 1024 * 1024  # bytes; a campaign's html and text are at most 512 KiB each, however they are escaped
IMPORT_LIMIT = 64 * 1024 * 1024  # bytes; more would outlast the 30 s that routers wait: import by command line
UNREADABLE = {
    400: Meaning("The body ends too early, or is no JSON object where it must be one."),
    413: Meaning("The body is too large."),
}

_KEY = re.compile(r"^[A-Za-z0-9_-]{0,64}$")


class IdempotencyKeyHeader(Schema):
    """See `idempotency_key`."""

    key = fields.String(
        data_key="Idempotency-Key",
        validate=validate.Regexp(_KEY),
        metadata={"description": "The same key does not do it twice; an empty one is none."},
    )


def json_object() -> dict[str, Any]:
    """The JSON object in the body, empty where there is none; 400 for anything else."""
    request.max_content_length = BODY_LIMIT
    try:
        data = json.loads(request.get_data(cache=False) or b"{}")
    except (ValueError, RecursionError):
        raise BadRequest from None
    if not isinstance(data, dict):
        raise BadRequest
    return data


def asked(schema: type[Schema]) -> dict[str, Any]:
    """The body as `schema` reads it; raises ValidationError."""
    loaded: dict[str, Any] = schema().load(json_object())
    return loaded


class Upload:
    """The request's body as a stream of at most `limit` bytes; what breaks off is an error, not an end."""

    def __init__(self, limit: int) -> None:
        request.max_content_length = limit
        self._stream, self._left = request.stream, request.content_length

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes, none at the end. Raises ClientDisconnected where bytes are missing: half of a line could
        pass for a whole one."""
        data = self._stream.read(size)
        if self._left is not None:
            self._left -= len(data)
            if not data and self._left > 0:
                raise ClientDisconnected
        return data


def idempotency_key() -> str:
    """The header Idempotency-Key, empty where there is none; 400 if it is not at most 64 of A-Z a-z 0-9 _ -."""
    key = request.headers.get("Idempotency-Key", "")
    if not _KEY.fullmatch(key):
        raise BadRequest
    return key
