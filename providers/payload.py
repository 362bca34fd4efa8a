"""Reading what a provider wrote, whatever it wrote: JSON objects, texts, times, ids.

Everything that leaves here is fit for SQL, AMQP and a log line: no lone surrogates, no control characters, bounded
length. Only the `read_…` functions raise, and only Unreadable.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NoReturn

from core.events import DETAIL_LIMIT
from providers.conditions import comparable, found

ID_LIMIT = 200  # characters: an AMQP message id holds 255 bytes, and a provider's name stands in front
MOST_LINES = 20  # entries of a list of diagnostics that can matter to a person
TAG_LIMIT = 256  # characters: Resend's own limit for tag values

# Controls, lone surrogates, separators of lines and paragraphs; and the marks that reorder or hide text on a screen.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff\ud800-\udfff]+")
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?")
_MILLISECONDS = 1e11  # as seconds, that is the year 5138
_PLAIN_ID = re.compile(rf"[!-~]{{0,{ID_LIMIT}}}")


class Unreadable(Exception):
    """The body, or an item of it, cannot be understood; the message is a short reason."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def read_object(body: bytes) -> dict[str, object]:
    """The JSON object that `body` is. Raises Unreadable."""
    value = read_json(body)
    if not isinstance(value, dict):
        raise Unreadable("the body is not a JSON object")
    return value


def read_event(body: bytes, member: str) -> dict[str, object]:
    """The JSON object that `body` is, whose text `member` says what happened. Raises Unreadable."""
    event = read_object(body)
    read_text(event, member, "the body")
    return event


def read_text(holder: Mapping[str, object], member: str, title: str = "the item") -> str:
    """The text `member` of `holder`, which is called `title`. Raises Unreadable."""
    text = holder.get(member)
    if not isinstance(text, str):
        raise Unreadable(f"{title} has no {member}")
    return text


def read_list(body: bytes) -> list[object]:
    """The members of the JSON array that `body` is; of a bare object, that object alone. Raises Unreadable."""
    value = read_json(body)
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise Unreadable("the body is neither a JSON array nor a JSON object")
    return value


def read_json(body: bytes) -> object:
    """The JSON value that `body` is; NaN and Infinity are no JSON. Raises Unreadable."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Unreadable("the body is not UTF-8") from None
    try:
        value: object = _decode(text)
    except RecursionError:
        raise Unreadable("the body is nested too deeply") from None
    except ValueError:  # JSONDecodeError, NaN and Infinity, and numbers of thousands of digits
        raise Unreadable("the body is not JSON") from None
    return value


def object_in(value: object) -> dict[str, object]:
    """The JSON object that `value` is, or is the text of (metadata often are); an empty one where it is neither."""
    try:
        inner = read_json(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    except Unreadable:
        return {}
    return inner if isinstance(inner, dict) else {}


def detail(body: Mapping[str, object], fields: Mapping[str, Sequence[str]]) -> str:
    """What the `fields` (path of an object → names in it; no path: `body`) say, as one bounded line for people."""
    lines: list[str] = []
    for path, names in fields.items():
        group = found(body, path) if path else body
        if isinstance(group, dict):
            lines.extend(line for name in names for line in _lines(group.get(name)))
    return "; ".join(lines)[:DETAIL_LIMIT]


def identifier(value: object) -> str:
    """`value` as an id: as written where it is printable ASCII of bounded length, else a stable stand-in that ends in
    its hash; an empty text where it is neither text nor number."""
    text = value if isinstance(value, str) else comparable(value) or ""
    if _PLAIN_ID.fullmatch(text):
        return text
    fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    readable = re.sub(r"[^!-~]", "_", text[: ID_LIMIT - 33])
    return f"{readable}~{fingerprint}"


def event_id(candidates: Iterable[object], body: bytes) -> str:
    """The first of `candidates` that is an id, as an identifier; without any, the hash of the body."""
    for candidate in candidates:
        if own_id := identifier(candidate):
            return own_id
    return f"body-{hashlib.sha256(body).hexdigest()[:32]}"


def composite(*parts: object) -> str:
    """An id made of `parts` where a provider gives none: the same parts make the same id, and no others do."""
    text = json.dumps([one if isinstance(one, str) else comparable(one) for one in parts])
    return f"composite-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def tag_value(value: object) -> str:
    """A tag of our own, as written; an empty text where it cannot be ours (an id that was cut names someone else)."""
    return value if isinstance(value, str) and len(value) <= TAG_LIMIT and not _UNFIT.search(value) else ""


def moment(value: object, received_at: datetime) -> datetime:
    """The ISO 8601 text `value` as UTC, which is also assumed where it has no offset; never later than `received_at`,
    which takes the place of anything unreadable."""
    if not isinstance(value, str):
        return received_at
    try:
        read = datetime.fromisoformat(value.strip())
        aware = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):  # the years 1 and 9999 have no room for an offset
        return received_at
    return min(aware, received_at)


def unix_moment(value: object, received_at: datetime) -> datetime:
    """Seconds or, above 10^11, milliseconds since 1970 as UTC, a number or its text; else as `moment` would read it."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return moment(value, received_at)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return received_at
    try:
        number = float(value)
        read = datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
    except (ValueError, OverflowError, OSError):
        return received_at
    return min(read, received_at)


def _lines(value: object) -> Iterator[str]:
    for one in value[:MOST_LINES] if isinstance(value, list) else (value,):
        text = one[:DETAIL_LIMIT] if isinstance(one, str) else comparable(one) or ""
        if line := text if text.isascii() and text.isprintable() else _UNFIT.sub(" ", text).strip():
            yield line
