"""Read a request's raw body, never much more of it than is allowed."""

from collections.abc import Mapping
from typing import Any


class TooLarge(Exception):
    """The body is over the limit."""


class CutOff(Exception):
    """The connection ended, or stopped making sense, before the body did."""


def read_body(environ: Mapping[str, Any], limit: int) -> bytes:
    """The raw body of a WSGI request; raises TooLarge or CutOff.

    A declared length over `limit` bytes is refused unread. Of a chunked body, which declares none, one byte over the
    limit is read; gunicorn ends its stream itself. (werkzeug's limited stream would cut it there without a word.)
    """
    declared = environ.get("CONTENT_LENGTH")
    length = int(declared) if declared else limit + 1
    if declared and length > limit:
        raise TooLarge
    try:
        body: bytes = environ["wsgi.input"].read(length)
    except (OSError, ValueError) as error:  # a broken connection, or chunks that are none
        raise CutOff from error
    if len(body) > limit:
        raise TooLarge
    if declared and len(body) < length:
        raise CutOff
    return body
