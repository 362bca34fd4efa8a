"""What a body about one recipient comes to: an event, a parked item, or a count. The same for every provider."""

from collections.abc import Callable

from core.addresses import Address, NotAnAddress
from core.events import QUEUED, REMOVING, Event
from providers.base import Normalised, ParkedItem
from providers.rules import Verdict

WHOLE_BODY = -1
FIRST_ITEM = 0
NOBODY = Address("", "")  # of an event that an operator completes (`mailward dlq resolve`)


def parked(index: int, reason: str) -> Normalised:
    """Nothing but one parked item."""
    return Normalised(parked=(ParkedItem(index, reason),))


def about_one(verdict: Verdict, recipient: Callable[[], Address], event: Callable[[Address], Event]) -> Normalised:
    """One event for a kind that is queued; without a single valid recipient, parked if it would remove, else counted.

    `recipient` finds the affected address, raising NotAnAddress if there is not exactly one; `event` makes the event.
    """
    if verdict.kind not in QUEUED:
        return Normalised(counted={verdict.kind: 1})
    try:
        address = recipient()
    except NotAnAddress as error:
        if verdict.kind in REMOVING:
            reason = f"{verdict.kind} without a single recipient: {error}"
            return Normalised(parked=(ParkedItem(FIRST_ITEM, reason, unaddressed=event(NOBODY)),))
        return Normalised(counted={verdict.kind: 1})
    return Normalised(events=(event(address),))
