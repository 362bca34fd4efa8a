"""A recipient record as text: JSON that is changed and carried without re-encoding it, so that its bytes survive."""

import base64
import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NoReturn

EMPTY = b"{}"
FENCE = "eligible_since"
_BLANKS = re.compile(r"[ \t\r\n]*")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def parse(text: str) -> Any:
    """The value of JSON `text`; raises ValueError, also for NaN, Infinity and nesting that nobody could read."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def members(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of the value of each member of `text`, which must be a JSON object."""
    position = _skip(text, _skip(text, 0) + 1)
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        start = _skip(text, _skip(text, position) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, start, end
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)


def stamp(record: bytes, moment: datetime) -> bytes | None:
    """`record` with its member `eligible_since` set to `moment`, else byte for byte; None if it is no JSON object."""
    try:
        text = record.decode()
        if not isinstance(parse(text), dict):
            return None
    except ValueError:
        return None
    value = f'"{moment.isoformat()}"'
    ends = [(start, end) for name, start, end in members(text) if name == FENCE]
    if ends:  # readers take the last of equal names
        start, end = ends[-1]
        return f"{text[:start]}{value}{text[end:]}".encode()
    closing = text.rindex("}")
    comma = "," if any(True for _ in members(text)) else ""
    return f'{text[:closing]}{comma}"{FENCE}":{value}{text[closing:]}'.encode()


def fence(record: bytes) -> Any:
    """The member `eligible_since` of `record` as it is written; None where it is absent, or `record` no JSON object."""
    try:
        data = parse(record.decode())
    except ValueError:
        return None
    return data.get(FENCE) if isinstance(data, dict) else None


def as_line_member(record: bytes) -> str:
    """`record` as a member of a JSON line, byte for byte: JSON as it is, other text as a string, the rest as base64."""
    try:
        text = record.decode()
    except UnicodeDecodeError:
        return f'"record_base64":"{base64.b64encode(record).decode()}"'
    return f'"record":{text if _fits_a_line(text) else json.dumps(text)}'


def as_value(record: bytes) -> dict[str, Any]:
    """`record` for an answer: {"record": its JSON value, or its text} or {"record_base64": …}."""
    try:
        text = record.decode()
    except UnicodeDecodeError:
        return {"record_base64": base64.b64encode(record).decode()}
    try:
        value = parse(text)
        json.dumps(value, allow_nan=False)  # 1e999 is JSON, but what Python makes of it is not
    except ValueError:
        value = text
    return {"record": value}


def _fits_a_line(text: str) -> bool:
    """Whether `text` is JSON that a line can carry as it is; a JSON string would be taken for the text inside it."""
    if "\n" in text or "\r" in text or text != text.strip(" \t") or text.startswith('"'):
        return False
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _skip(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position
