"""Dead letters as people and machines read them: the list, one letter in full, a line of an export. Pure.

Bodies and headers come from anybody: whatever could play tricks on a terminal is escaped.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from core.batch_message import BatchMessage
from core.dead_letter_log import Failure
from core.events import Event
from core.parked import Parked
from ops.groups import Group
from ops.letters import Letter

_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))


def table(groups: Sequence[Group], now: datetime) -> Iterator[str]:
    """The lines of `mailward dlq list`."""
    lane = None
    for group in groups:
        if group.lane is not lane:
            lane = group.lane
            total = sum(one.count for one in groups if one.lane is lane)
            yield f"{lane}: {letters(total)}"
            yield f"{'count':>8}  {'oldest':>7}  {'newest':>7}  {'replayed':>8}  reason"
        ages = f"{age(group.oldest, now):>7}  {age(group.newest, now):>7}"
        yield f"{group.count:>8}  {ages}  {group.replayed:>8}  {printable(group.reason)}"
        more = ["…"] if group.count > len(group.ids) else []
        yield from (f"{'':38}{printable(one)}" for one in (*group.ids, *more))


def shown(letter: Letter, history: Sequence[tuple[Failure, str]], now: datetime) -> Iterator[str]:
    """The lines of `mailward dlq show`."""
    since = f"{letter.since.isoformat()} ({age(letter.since, now)} ago)" if letter.since else "unknown"
    yield from _fields(
        [
            ("id", letter.id),
            ("lane", f"{letter.lane} (of {letter.queue})"),
            ("since", since),
            ("attempt", f"{letter.attempt}, replayed {letter.replays} times"),
            ("error", letter.error),
            *_content(letter),
        ]
    )
    for failure, closed in history:
        said = f"{failure.error_type}: {failure.error}" if failure.error_type else "bytes kept"
        at = f"{failure.failed_at.isoformat()}, replay {failure.replay}, attempt {failure.attempt}"
        yield printable(f"log       {at}: {said}{f' [{closed}]' if closed else ''}")
    if letter.failure is not None and letter.failure.stack:
        yield "stack"
        yield from (f"  {printable(line)}" for line in letter.failure.stack.splitlines())
    yield "headers"
    yield from (f"  {line}" for line in json.dumps(jsonable(letter.headers), indent=2).splitlines())
    if not isinstance(letter.content, Parked):  # whose body was shown as it was received
        yield "body"
        yield from (f"  {line}" for line in body_lines(letter.body))


def exported(letter: Letter) -> str:
    """One line of `mailward dlq export`: JSON; the body as text where it is UTF-8 JSON, else as base64."""
    failure = letter.failure
    error = {"type": failure.error_type, "text": failure.error, "stack": failure.stack} if failure else None
    line = {
        "id": letter.id,
        "lane": letter.lane.value,
        "queue": letter.queue,
        "since": letter.since and letter.since.isoformat(),
        "attempt": letter.attempt,
        "replays": letter.replays,
        "reason": letter.error,
        "error": error,
        "headers": jsonable(letter.headers),
    }
    try:
        text = letter.body.decode()
        json.loads(text)
        line["body"] = text
    except (ValueError, RecursionError):
        line["body_base64"] = base64.b64encode(letter.body).decode()
    return json.dumps(line)


def jsonable(value: Any) -> Any:
    """An AMQP header value as JSON: times as ISO 8601, bytes as base64, what JSON does not know as text."""
    if isinstance(value, Mapping):
        return {str(name): jsonable(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def body_lines(body: bytes) -> list[str]:
    """A body for a terminal: JSON indented, else its text with everything odd escaped."""
    try:
        return json.dumps(json.loads(body), indent=2).splitlines()
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "backslashreplace")
        return [printable(line) for line in text.splitlines()] or ["(empty)"]


def age(since: datetime | None, now: datetime) -> str:
    """How long ago `since` was, in its largest unit."""
    if since is None:
        return "?"
    seconds = max(0, (now - since) // timedelta(seconds=1))
    return next((f"{seconds // size} {unit}" for unit, size in _UNITS if seconds >= size), "0 s")


def printable(text: str) -> str:
    """`text` on one line, with control characters and the like escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def letters(n: int) -> str:
    """`n` letters, in words."""
    return f"{n:,} letter{'' if n == 1 else 's'}"


def _content(letter: Letter) -> Iterator[tuple[str, str]]:
    content = letter.content
    if isinstance(content, Event):
        yield "event", f"{content.kind} of {content.recipient}, {content.event_id} by rule {content.rule}"
        yield "occurred", content.occurred_at.isoformat()
        yield "detail", content.detail or "none"
    elif isinstance(content, BatchMessage):
        yield "batch", f"call {content.call_id} of campaign {content.campaign_id}, ledger {content.ledger}"
    elif isinstance(content, Parked):
        yield "provider", content.provider
        yield from (("item", f"{item.index}: {item.reason}") for item in content.items)
        yield from (("header", f"{name}: {value}") for name, value in content.headers.items())
        yield "received", "".join(f"\n  {line}" for line in body_lines(content.body))
    else:
        yield "unreadable", str(content)


def _fields(fields: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, value in fields:
        first, *rest = value.split("\n")
        yield f"{name:<10}{printable(first)}".rstrip()
        yield from (f"  {printable(line)}" for line in rest if line)
