"""The recorded payloads as structures that can be changed anywhere, and each shape written as bytes again.

A structure is plain JSON. JSON that stands as a text in other JSON or in a form is `{NESTED: value}`; a form is a list
of fields (name and value), a multipart form one of parts (head and value), JSON Lines a list of lines.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote_plus

PAYLOADS = Path(__file__).resolve().parents[2] / "tests" / "payloads"
NESTED = "$json"
BOUNDARY = b"--made-up-boundary"

Write: TypeAlias = Callable[[Any, bool], bytes]
"""Writes a structure, whatever it has become; whether the JSON in it escapes all that is not ASCII."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded payload: its structure as JSON text, since each change needs a copy of its own."""

    name: str
    text: str
    write: Write

    def structure(self) -> Any:
        """A fresh copy of the structure."""
        return json.loads(self.text)


@cache
def recorded(provider: str) -> tuple[Recorded, ...]:
    """All recorded payloads of `provider`, in the order of their names."""
    paths = sorted((PAYLOADS / provider).iterdir())
    return tuple(_recorded(path.name, *_SHAPES[path.suffix](path.read_bytes())) for path in paths)


def _recorded(name: str, structure: Any, write: Write) -> Recorded:
    return Recorded(name, json.dumps(structure), write)


def _nested(text: str) -> Any:
    """The JSON that `text` is as a nested structure; else `text`."""
    try:
        return {NESTED: json.loads(text)}
    except ValueError:
        return text


def _read_json(body: bytes) -> tuple[Any, Write]:
    value = json.loads(body)
    if isinstance(value, dict) and isinstance(value.get("Message"), str):
        value["Message"] = _nested(value["Message"])
    return value, _write_json


def _write_json(structure: Any, ascii_only: bool) -> bytes:
    return _encoded(json.dumps(_flat(structure, ascii_only), ensure_ascii=ascii_only))


def _read_lines(body: bytes) -> tuple[Any, Write]:
    return [_nested(line) for line in body.decode().split("\n")], _write_lines


def _write_lines(structure: Any, ascii_only: bool) -> bytes:
    lines = structure if isinstance(structure, list) else [structure]
    return b"\n".join(_text(line, ascii_only) for line in lines)


def _read_form(body: bytes) -> tuple[Any, Write]:
    fields = parse_qsl(body.decode(), keep_blank_values=True)
    return [[name, _nested(value) if name == "mandrill_events" else value] for name, value in fields], _write_form


def _write_form(structure: Any, ascii_only: bool) -> bytes:
    pairs = (_pair(field, ascii_only) for field in structure) if isinstance(structure, list) else ()
    return b"&".join(quote_plus(name).encode() + b"=" + quote_plus(value).encode() for name, value in pairs)


def _read_multipart(body: bytes) -> tuple[Any, Write]:
    parts = (part.partition("\r\n\r\n") for part in body.decode(errors="replace").split(f"{BOUNDARY.decode()}\r\n")[1:])
    return [
        [head, value.partition(f"\r\n{BOUNDARY.decode()}--")[0].removesuffix("\r\n")] for head, _, value in parts
    ], (_write_multipart)


def _write_multipart(structure: Any, ascii_only: bool) -> bytes:
    parts = (_pair(part, ascii_only) for part in structure) if isinstance(structure, list) else ()
    written = [BOUNDARY + b"\r\n" + head + b"\r\n\r\n" + value + b"\r\n" for head, value in parts]
    return b"".join(written) + BOUNDARY + b"--\r\n"


def _pair(pair: Any, ascii_only: bool) -> tuple[bytes, bytes]:
    """Name and value of a field, or head and value of a part; of anything else, itself without a value."""
    if isinstance(pair, list) and len(pair) == 2:
        return _text(pair[0], ascii_only), _text(pair[1], ascii_only)
    return _text(pair, ascii_only), b""


def _flat(value: Any, ascii_only: bool) -> Any:
    """`value` with its nested JSON written as texts."""
    if isinstance(value, dict):
        if NESTED in value:
            return json.dumps(_flat(value[NESTED], ascii_only), ensure_ascii=ascii_only)
        return {name: _flat(inner, ascii_only) for name, inner in value.items()}
    return [_flat(inner, ascii_only) for inner in value] if isinstance(value, list) else value


def _text(value: Any, ascii_only: bool) -> bytes:
    flat = _flat(value, ascii_only)
    return _encoded(flat if isinstance(flat, str) else json.dumps(flat, ensure_ascii=ascii_only))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_SHAPES: dict[str, Callable[[bytes], tuple[Any, Write]]] = {
    ".json": _read_json,
    ".jsonl": _read_lines,
    ".form": _read_form,
    ".multipart": _read_multipart,
}
