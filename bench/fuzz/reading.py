"""Just enough reading of a body to find evidence in it; of two ways to read one, the more generous."""

import json
import re
from typing import Any
from urllib.parse import unquote_to_bytes

# RFC 3463: no such mailbox, no such domain, no address at all, moved away; RFC 7505: a domain that takes no mail.
BAD_ADDRESS = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})


def read(text: Any) -> Any:
    """The JSON that `text` is, bytes or not. Raises ValueError or RecursionError."""
    if not isinstance(text, str | bytes):
        raise ValueError("not a text")
    return json.loads(text.decode() if isinstance(text, bytes) else text)


def at(value: Any, *path: str) -> Any:
    """What stands at `path` in `value`, None where nothing does."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def one_of(value: Any, *texts: str) -> bool:
    """Whether `value`, a text or a whole number, is one of `texts`; the case of ASCII letters does not matter."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    return (text.lower() if text.isascii() else text) in texts


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a batch, or the one that stands there alone."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


def is_bad_address(answer: Any) -> bool:
    """Whether an SMTP answer holds an enhanced code that is about the address."""
    return isinstance(answer, str) and any(one.strip(".") in BAD_ADDRESS for one in re.findall("[0-9.]+", answer))


def form(body: bytes) -> dict[str, bytes]:
    """The fields of a URL-encoded form; of one that is there twice, the first."""
    found: dict[str, bytes] = {}
    for field in body.split(b"&"):
        name, value = (unquote_to_bytes(part.replace(b"+", b" ")) for part in field.partition(b"=")[::2])
        found.setdefault(name.decode(errors="replace"), value)
    return found


def multipart(body: bytes) -> dict[str, bytes]:
    """The fields of a multipart form; of one that is there twice, the first."""
    boundary = body.partition(b"\r\n")[0]
    found: dict[str, bytes] = {}
    for part in (b"\r\n" + body).split(b"\r\n" + boundary):
        head, _, value = part.partition(b"\r\n\r\n")
        if b"filename=" not in head and (name := re.search(rb'name="?([^";\r\n]+)', head)):
            found.setdefault(name[1].decode(errors="replace"), value)
    return found
