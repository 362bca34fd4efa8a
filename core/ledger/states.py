"""Every state of a provider call, every thing that can happen to it, and what follows. Total and pure.

A call is *tainted* once an attempt may have been accepted without us knowing it: from then on nothing but a 2xx for its
key, an event of the provider or an operator's choice may decide what became of it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Call(StrEnum):
    """State of one provider call of at most 100 deliveries."""

    PLANNED = "planned"  # a range of members; nothing is frozen
    LEASED = "leased"  # sealed: members, order, bytes and key are frozen; a worker has it, no attempt has begun
    CALLING = "calling"  # an attempt has begun, or may have
    RETRY_WAIT = "retry_wait"  # to be repeated with the same bytes under the same key
    ACCEPTED = "accepted"
    REJECTED = "rejected"  # definitely refused: its members failed, or are split over new calls
    DISCARDED = "discarded"  # unsealed: no attempt can have been accepted, its members are pending again
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # perhaps accepted, and no call will be made to find out


class Happening(StrEnum):
    """What can happen to a call."""

    SEALED = "sealed"
    EMPTY = "empty"  # nothing was left to seal
    BEGUN = "begun"
    BLOCKED = "blocked"  # at the last check before an attempt: a member is blocked, settled or gone
    NOT_RUNNING = "not_running"  # at the last check before an attempt: the campaign is paused or cancelled
    RECLAIMED = "reclaimed"  # due, or its lease ran out: a worker takes it for another attempt
    ACCEPTED = "accepted"  # 2xx for its key
    NOT_SENT = "not_sent"  # refused connection, 429, quota, 401, 403: this attempt cannot have been accepted
    AMBIGUOUS = "ambiguous"  # time-out, reset, 5xx: this attempt may have been accepted
    RUNNING_ELSEWHERE = "running_elsewhere"  # 409: another attempt under this key is under way
    KEY_TAKEN = "key_taken"  # 409: other bytes were accepted under this key
    REJECTED = "rejected"  # 400, 422 because of a recipient
    REJECTED_FOR_ALL = "rejected_for_all"  # 400, 422 because of sender, subject or content
    WINDOW_PASSED = "window_passed"  # the provider is about to forget the key
    ACCOUNT_CHANGED = "account_changed"  # the key would mean nothing to this provider account
    BYTES_CHANGED = "bytes_changed"  # what is stored is not what was sealed: no repeat would be the same request
    CANCELLED = "cancelled"  # the campaign was cancelled
    PROVEN = "proven"  # the provider's events account for every member
    ASSUMED_SENT = "assumed_sent"  # an operator's choice
    RESENT = "resent"  # an operator's choice, with the risk of a second mail


class Members(StrEnum):
    """What becomes of the deliveries of the call that are still reserved."""

    KEEP = "keep"
    RESERVE = "reserve"
    SENT = "sent"
    PENDING = "pending"  # and a call of the next generation is planned for them
    SPLIT = "split"  # pending in two halves, or failed where one stands alone
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Step:
    """What follows: the new state, the members' fate, whether the call is tainted from now on, and what to tell."""

    state: Call
    members: Members = Members.KEEP
    taints: bool = False
    needs_epoch: bool = True  # only the holder of the current lease may say so
    duplicate: bool = False  # a 2xx for a key whose members may have been sent again since: counted and alerted


OPEN = (Call.PLANNED, Call.LEASED, Call.CALLING, Call.RETRY_WAIT)  # somebody will move it
HELD = (Call.LEASED, Call.CALLING, Call.RETRY_WAIT)  # sealed and open: its members are reserved
SETTLED = (Call.ACCEPTED, Call.REJECTED, Call.DISCARDED, Call.CANCELLED)


def step(state: Call, happening: Happening, tainted: bool) -> Step | None:
    """What follows when `happening` befalls a call in `state`; None where nothing does (a repeat, or too late)."""
    if happening is Happening.ACCEPTED:
        return _accepted(state)
    table = _TAINTED if tainted else _CLEAN
    return table.get((state, happening))


def _accepted(state: Call) -> Step | None:
    """A 2xx is true in every state and from any lease; after an unsealing it may mean a second mail."""
    if state is Call.ACCEPTED:
        return None
    late = state in (Call.DISCARDED, Call.REJECTED, Call.CANCELLED, Call.PLANNED)
    return Step(Call.ACCEPTED, Members.SENT, needs_epoch=False, duplicate=late)


_AGAIN = Step(Call.LEASED, needs_epoch=False)
_RETRY = Step(Call.RETRY_WAIT)
_RETRY_TAINTED = Step(Call.RETRY_WAIT, taints=True)
_UNSEAL = Step(Call.DISCARDED, Members.PENDING)
_UNKNOWN = Step(Call.UNKNOWN, needs_epoch=False)
_PROVEN = Step(Call.ACCEPTED, Members.SENT, needs_epoch=False)
_RESENT = Step(Call.DISCARDED, Members.PENDING, needs_epoch=False)
_SKIPPED = Step(Call.CANCELLED, Members.SKIP, needs_epoch=False)

# What an operator, the provider's events or the clock may do to a call that may have been accepted.
_UNDECIDED: dict[tuple[Call, Happening], Step] = {
    (Call.LEASED, Happening.PROVEN): _PROVEN,
    (Call.CALLING, Happening.PROVEN): _PROVEN,
    (Call.RETRY_WAIT, Happening.PROVEN): _PROVEN,
    (Call.UNKNOWN, Happening.PROVEN): _PROVEN,
    (Call.RETRY_WAIT, Happening.RECLAIMED): _AGAIN,
    (Call.RETRY_WAIT, Happening.WINDOW_PASSED): _UNKNOWN,
    (Call.RETRY_WAIT, Happening.ACCOUNT_CHANGED): _UNKNOWN,
    (Call.RETRY_WAIT, Happening.BYTES_CHANGED): _UNKNOWN,
    (Call.RETRY_WAIT, Happening.CANCELLED): _UNKNOWN,
    (Call.RETRY_WAIT, Happening.ASSUMED_SENT): _PROVEN,
    (Call.RETRY_WAIT, Happening.RESENT): _RESENT,
    (Call.UNKNOWN, Happening.ASSUMED_SENT): _PROVEN,
    (Call.UNKNOWN, Happening.RESENT): _RESENT,
    # An attempt whose outcome nobody recorded is ambiguous.
    (Call.CALLING, Happening.RECLAIMED): Step(Call.LEASED, taints=True, needs_epoch=False),
    (Call.CALLING, Happening.WINDOW_PASSED): _UNKNOWN,
    (Call.CALLING, Happening.ACCOUNT_CHANGED): _UNKNOWN,
    (Call.CALLING, Happening.BYTES_CHANGED): _UNKNOWN,
    (Call.CALLING, Happening.AMBIGUOUS): _RETRY_TAINTED,
    (Call.CALLING, Happening.RUNNING_ELSEWHERE): _RETRY_TAINTED,
    (Call.CALLING, Happening.KEY_TAKEN): Step(Call.UNKNOWN),
    (Call.LEASED, Happening.BEGUN): Step(Call.CALLING),
    (Call.LEASED, Happening.RECLAIMED): _AGAIN,
}

_CLEAN = _UNDECIDED | {
    (Call.PLANNED, Happening.SEALED): Step(Call.LEASED, Members.RESERVE, needs_epoch=False),
    (Call.PLANNED, Happening.EMPTY): Step(Call.DISCARDED, needs_epoch=False),
    (Call.PLANNED, Happening.CANCELLED): _SKIPPED,
    (Call.LEASED, Happening.BLOCKED): _UNSEAL,
    (Call.LEASED, Happening.NOT_RUNNING): _UNSEAL,
    (Call.LEASED, Happening.ACCOUNT_CHANGED): _UNSEAL,
    (Call.LEASED, Happening.BYTES_CHANGED): _UNSEAL,
    (Call.LEASED, Happening.CANCELLED): _SKIPPED,
    (Call.CALLING, Happening.NOT_SENT): _UNSEAL,
    (Call.CALLING, Happening.REJECTED): Step(Call.REJECTED, Members.SPLIT),
    (Call.CALLING, Happening.REJECTED_FOR_ALL): _UNSEAL,
}

_TAINTED = _UNDECIDED | {
    (Call.LEASED, Happening.NOT_RUNNING): _RETRY,
    (Call.LEASED, Happening.ACCOUNT_CHANGED): Step(Call.UNKNOWN),
    (Call.LEASED, Happening.BYTES_CHANGED): Step(Call.UNKNOWN),
    (Call.LEASED, Happening.WINDOW_PASSED): _UNKNOWN,
    (Call.CALLING, Happening.NOT_SENT): _RETRY,
    # After an ambiguous attempt a definite refusal proves nothing about that attempt.
    (Call.CALLING, Happening.REJECTED): Step(Call.UNKNOWN),
    (Call.CALLING, Happening.REJECTED_FOR_ALL): Step(Call.UNKNOWN),
}
