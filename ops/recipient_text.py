"""What the journal and the store say about a recipient, in sentences for the terminal."""

import json
from collections.abc import Iterator
from datetime import datetime

from core import records
from core.addresses import Address
from core.decide import Outcome
from core.history import Judgement
from core.recipient_view import View
from core.restore import Restored

_VERBS = {
    Outcome.REMOVED: "removed the record",
    Outcome.ABSENT: "found no record",
    Outcome.STALE: "was older than the consent or a restore and changed nothing",
}


def shown(view: View) -> Iterator[str]:
    """The address, its records by key, and whether mail to it is blocked."""
    yield f"address  {view.address.normal}"
    for key, record in view.records.items():
        yield f"key      {_plain(key)}"
        yield f"record   {'none' if record is None else _record(record)}"
    yield f"blocked  {_blocked(view)}"


def explained(view: View) -> Iterator[str]:
    """Every event in the journal, newest first, and one sentence on where that leaves the address."""
    for one in view.judgements:
        yield f"{_moment(one.created_at)}  {_event(one)} {_VERBS[one.outcome]} ({_plain(one.key)})"
        yield f"    event {_plain(one.event_id)}; {_applied(one)}; {_restored(one)}"
        if one.detail:
            yield f"    {_plain(one.detail)}"
    yield mailable(view)


def mailable(view: View) -> str:
    """One sentence: why this address gets no mail, or that it does."""
    address = view.address.normal
    has_record = any(record is not None for record in view.records.values())
    if view.blocks:
        newest = view.blocks[0]
        gone = "Its record was put there again since, without a newer eligible_since. " if has_record else ""
        return (
            f"{address} gets no mail: {_event(newest)} {_VERBS[newest.outcome]}. {gone}"
            f"`mailward recipients restore {address}` undoes it, `mailward recipients add {address}` lets it in anew."
        )
    if has_record:
        return f"{address} gets mail: it has a record, and nothing in the journal blocks it."
    if view.judgements:
        return f"{address} gets no mail: nothing in the journal blocks it (any more), but it has no record."
    return (
        f"{address} gets no mail, and not because of mailward, which never removed it: it has no record, "
        "so the application never stored one, or deleted it itself."
    )


def restored(address: Address, done: Restored) -> Iterator[str]:
    """What a restore did."""
    for one in done.removals:
        yield f"restored {_plain(one.key)}, {len(one.record or b'')} bytes, removed by {_event(one)}"
    if not done.removals:
        yield f"no event had deleted a record of {address.normal}, so none was put back"
    yield f"{done.rows} journal rows marked restored: nothing up to now blocks {address.normal}"


def _blocked(view: View) -> str:
    if not view.blocks:
        return "no"
    newest = view.blocks[0]
    return f"yes: {_event(newest)} {_VERBS[newest.outcome]}"


def _event(one: Judgement) -> str:
    what = one.kind.replace("_", " ")
    return f"the {what} that {one.provider} reported for {_moment(one.occurred_at)} (rule {_plain(one.rule)})"


def _applied(one: Judgement) -> str:
    return "not applied yet" if one.applied_at is None else f"applied {_moment(one.applied_at)}"


def _restored(one: Judgement) -> str:
    return "not restored" if one.restored_at is None else f"restored {_moment(one.restored_at)}"


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _record(record: bytes) -> str:
    value = records.as_value(record)
    return json.dumps(value.get("record", value), ensure_ascii=True)


def _plain(text: str) -> str:
    """`text` without anything that a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in text)
