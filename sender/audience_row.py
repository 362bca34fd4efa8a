"""One recipient of an audience: what a line has to hold, and why it is refused."""

import json
from typing import Any, NamedTuple

from core import records
from core.addresses import NotAnAddress, normalise, short_digest
from core.ledger.tags import LONGEST_ID

SPECIAL = frozenset({"address", "email", "recipient_id", "id"})  # the fields of a line that are no merge fields
DEEPEST = 50  # nested lists and objects: whoever reads the fields later may have less stack left

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class Row(NamedTuple):
    """One recipient: `address` in normal form; `verbatim` as it was written, empty where that is the same; the merge
    fields as a compact JSON object, as text. Without an id of its own, the digest of the address is its id."""

    recipient_id: str
    address: str
    verbatim: str
    variables: str


def parsed(text: str) -> dict[str, Any]:
    """The fields of a line of NDJSON. Raises ValueError."""
    try:
        fields = records.parse(text)
    except ValueError:
        raise ValueError("not JSON") from None
    if type(fields) is not dict:
        raise ValueError("not an object")
    if text.count("{") + text.count("[") > DEEPEST and _is_deep(fields):
        raise ValueError("nested too deeply")
    return fields


def row(fields: dict[str, Any], keep_local_case: bool) -> Row:
    """The recipient of one line; takes what is special out of `fields`. Raises ValueError."""
    if ("address" in fields) is ("email" in fields):
        raise ValueError("must have either address or email")
    written = fields.pop("address") if "address" in fields else fields.pop("email")
    address = normalise(written, keep_local_case=keep_local_case)
    normal, verbatim = address.normal, address.verbatim
    given = fields.pop("recipient_id" if "recipient_id" in fields else "id", None)
    recipient_id = short_digest(normal) if given is None or given == "" else _checked(given)
    variables = _variables(fields)
    if not variables.isascii():
        variables.encode()
    return Row(recipient_id, normal, "" if verbatim == normal else verbatim, variables)


def _variables(fields: dict[str, Any]) -> str:
    try:
        return _encode(fields) if fields else "{}"
    except ValueError:
        raise ValueError("a number out of range") from None


def _checked(given: object) -> str:
    """A recipient id: a text, or a whole number."""
    text = str(given) if type(given) is int else given
    if not isinstance(text, str) or not text.isprintable() or not 0 < len(text := text.strip()) <= LONGEST_ID:
        raise ValueError(f"recipient_id must be 1 to {LONGEST_ID} printable characters")
    return text


def reason(error: Exception) -> str:
    """In words that hold nothing of the line."""
    if isinstance(error, UnicodeEncodeError):
        return "half of a character (a lone surrogate)"
    return f"not an address: {error}" if isinstance(error, NotAnAddress) else str(error)


def _is_deep(value: object) -> bool:
    layer = [value]
    for _ in range(DEEPEST):
        nested = [one.values() if isinstance(one, dict) else one for one in layer if isinstance(one, dict | list)]
        layer = [child for children in nested for child in children]
    return bool(layer)
