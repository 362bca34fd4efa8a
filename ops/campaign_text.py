"""Campaigns in lines for the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from marshmallow import ValidationError
from sqlalchemy import Row

from core.ledger.campaigns import InFlight
from core.tables import from_us
from sender.clients.base import Answer
from sender.uploading import Uploaded

RISKS = {
    "assume-sent": "Its recipients will count as sent. If the provider did not accept the call, they get no mail.",
    "resend": "Its recipients will be mailed again. If the provider did accept the call, they get a second mail.",
}


def listed(row: Row[Any]) -> str:
    """One campaign in one line."""
    done = row.total - row.pending - row.reserved
    return f"{row.id}  {row.state:<21}  {done}/{row.total}  {_moment(row.created_at)}  {row.name}"


def state(row: Row[Any], stats: Mapping[str, int]) -> Iterator[str]:
    """The campaign, its state and its counts."""
    yield f"{row.id}  {row.name}"
    yield f"state      {row.state}{f' ({row.pause_reason})' if row.pause_reason else ''}"
    if row.started_at:
        yield f"started    {_moment(row.started_at)}"
    if row.finished_at:
        yield f"finished   {_moment(row.finished_at)}"
    for name in ("total", "sent", "reserved", "failed", "skipped", "remaining"):
        unknown = f", {stats['unknown']} of them unknown" if name == "reserved" and stats["unknown"] else ""
        yield f"{name:<9}  {stats[name]}{unknown}"


def in_flight(calls: Sequence[InFlight]) -> Iterator[str]:
    """The calls that may still reach the provider."""
    yield f"{len(calls)} calls in flight{':' if calls else ''}"
    for one in calls:
        yield f"  call {one.call_id}, {one.size} recipients, key {one.idempotency_key}"


def undecided(rows: Sequence[Row[Any]]) -> Iterator[str]:
    """The calls that need an operator's decision, and what can be decided."""
    if not rows:
        return
    yield f"{len(rows)} calls of which nobody knows whether the provider accepted them:"
    for row in rows:
        what = "unknown" if row.state == "unknown" else "waits to be repeated with the same key"
        since = f"first attempt {_moment(row.first_attempt_at)}" if row.first_attempt_at else "not attempted"
        yield f"  call {row.id}, {row.size} recipients, {what}, {since}{f', {row.error}' if row.error else ''}"
    yield "`mailward campaign resolve CALL --assume-sent` or `--resend` decides; the provider's list of mails tells."


def uploaded(done: Uploaded) -> Iterator[str]:
    """What an upload came to."""
    for line in done.bad_lines:
        yield f"line {line.line}: {line.reason}"
    if done.bad > len(done.bad_lines):
        yield f"line …: and {done.bad - len(done.bad_lines)} more"
    loaded = done.loaded
    yield f"{loaded.added} added, {loaded.repeated} were there already, {done.bad} not taken"


def answered(key: str, answer: Answer) -> Iterator[str]:
    """What the provider said to a test mail."""
    yield f"key     {key}"
    yield f"result  {answer.happening.value}{f' ({answer.error})' if answer.error else ''}"
    if answer.ids:
        yield f"id      {answer.ids[0]}"


def faults(error: ValidationError) -> Iterator[str]:
    """What is wrong with the fields of a content, one line each."""
    fields: dict[str, Any] = error.normalized_messages()  # type: ignore[no-untyped-call]  # marshmallow has no type there
    for name, messages in fields.items():
        yield f"{name}: {'; '.join(map(str, messages)) if isinstance(messages, list) else messages}"


def _moment(us: int) -> str:
    return f"{from_us(us):%Y-%m-%d %H:%M:%S} UTC"
