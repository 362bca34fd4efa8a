"""An audience from the recipient store: whoever has a record, or those whose record says so.

Whether somebody is blocked is not asked here but when a mail is sealed, which may be days later.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from core import records
from core.addresses import NotAnAddress, normalise, short_digest
from sender.audience import SLICE
from sender.audience_row import Row


class BadFilter(ValueError):
    """The filter is not `field=value`."""


def rows(
    scanned: Iterable[tuple[str, bytes]], fields: Collection[str], audience_filter: str, keep_local_case: bool
) -> Iterator[list[Row]]:
    """The recipients among (address, record) pairs, in slices. `fields` are the members of their JSON records that
    become merge fields: those that the content uses. Keys that are not an address in normal form are passed over,
    because nobody looks for a recipient there.
    """
    accepts = accepting(audience_filter)
    found = (_row(address, record, fields, accepts, keep_local_case) for address, record in scanned)
    kept = (one for one in found if one is not None)
    while some := list(islice(kept, SLICE)):
        yield some


def accepting(audience_filter: str) -> Callable[[dict[str, Any]], bool]:
    """Whether a record's JSON object has the field of `field=value`, and in it that text, number or truth value.

    Everybody is accepted where the filter is empty. Raises BadFilter.
    """
    name, equals, wanted = audience_filter.partition("=")
    if audience_filter and not (name and equals):
        raise BadFilter("the filter must be field=value")
    if not audience_filter:
        return lambda _: True
    return lambda data: name in data and _text(data[name]) == wanted


def _row(
    address: str,
    record: bytes,
    fields: Collection[str],
    accepts: Callable[[dict[str, Any]], bool],
    keep_local_case: bool,
) -> Row | None:
    try:
        if normalise(address, keep_local_case=keep_local_case).normal != address:
            return None
    except NotAnAddress:
        return None
    data = _object(record)
    if not accepts(data):
        return None
    merged = {name: data[name] for name in sorted(fields) if name in data}
    return Row(short_digest(address), address, "", json.dumps(merged, separators=(",", ":")))


def _object(record: bytes) -> dict[str, Any]:
    try:
        data = records.parse(record.decode())
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
