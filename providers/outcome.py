"""What a body about one recipient comes to: an event, a parked item, or a count. The same for every provider."""

from collections import Counter
from collections.abc import Callable, Iterable

from core.addresses import Address, NotAnAddress
from core.events import QUEUED, REMOVING, Event, Kind
from providers.base import CountedItem, Normalised, ParkedItem
from providers.rules import Verdict

WHOLE_BODY = -1
FIRST_ITEM = 0
NOBODY = Address("", "")  # of an event that an operator completes (`mailward dlq resolve`)


def parked(index: int, reason: str) -> Normalised:
    """Nothing but one parked item."""
    return Normalised(parked=(ParkedItem(index, reason),))


def counted(index: int, verdict: Verdict) -> Normalised:
    """Nothing but one counted item."""
    item = CountedItem(index, verdict.kind, verdict.rule)
    return Normalised(counted={verdict.kind: 1}, counted_items=(item,))


def about_one(
    verdict: Verdict, recipient: Callable[[], Address], event: Callable[[Address], Event], index: int = FIRST_ITEM
) -> Normalised:
    """One event for a kind that is queued; without a single valid recipient, parked if it would remove, else counted.

    `recipient` finds the affected address, raising NotAnAddress if there is not exactly one; `event` makes the event;
    `index` is that of the item in its body.
    """
    if verdict.kind not in QUEUED:
        return counted(index, verdict)
    try:
        address = recipient()
    except NotAnAddress as error:
        if verdict.kind in REMOVING:
            reason = f"{verdict.kind} without a single recipient: {error}"
            return Normalised(parked=(ParkedItem(index, reason, unaddressed=event(NOBODY)),))
        return counted(index, verdict)
    return Normalised(events=(event(address),))


def merged(parts: Iterable[tuple[int, Normalised]]) -> Normalised:
    """The outcomes of single items, each with the index of its item, as the outcome of their body."""
    events: list[Event] = []
    indexes: list[int] = []
    parked_items: list[ParkedItem] = []
    counted_items: list[CountedItem] = []
    counted_kinds: Counter[Kind] = Counter()
    for index, part in parts:
        events.extend(part.events)
        indexes.extend([index] * len(part.events))
        parked_items.extend(part.parked)
        counted_items.extend(part.counted_items)
        counted_kinds.update(part.counted)
    return Normalised(
        tuple(events), tuple(parked_items), dict(counted_kinds), tuple(indexes), counted_items=tuple(counted_items)
    )
