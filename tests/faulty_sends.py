"""The `sends` process, killed at one seam of a batch that no signal can hit."""

import http.client
import os
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from consumer.intake import Intake
from core.ledger import attempts, identity, sealing
from core.ledger.identity import LedgerKey
from sender.clients import resend_answers
from sender.clients.resend import Resend
from tests.forked import running

KILLED = 9


class When(Enum):
    """On which side of a function its process dies."""

    BEFORE = "before it does anything"
    AFTER = "after it has done everything, and before anybody hears of it"


class Seam(NamedTuple):
    """A function of the way of a batch, and on which side of it the process dies."""

    owner: Any
    name: str
    when: When


# In the order in which a batch meets them. What dies within a transaction dies with it: nothing of it was committed.
SEAMS: Mapping[str, Seam] = {
    "before the seal": Seam(sealing, "seal", When.BEFORE),
    "before the reservation": Seam(sealing, "_freeze", When.BEFORE),  # the transaction has locked and looked
    "after the reservation": Seam(identity, "counted", When.AFTER),  # all is written, nothing committed
    "after the seal": Seam(LedgerKey, "write", When.BEFORE),  # committed, and Redis does not know of it yet
    "before the mark": Seam(attempts, "begin", When.BEFORE),
    "at the mark": Seam(
        attempts, "finish", When.BEFORE
    ),  # everything is checked, and that an attempt begins not written
    "after the mark": Seam(attempts, "begin", When.AFTER),  # written and committed
    "before the call": Seam(Resend, "call", When.BEFORE),  # no byte has left
    "after the call": Seam(http.client.HTTPConnection, "getresponse", When.BEFORE),  # every byte has left
    "before the response": Seam(resend_answers, "read", When.BEFORE),  # it is here, and nobody has read it
    "after the response": Seam(Resend, "call", When.AFTER),  # understood, and nowhere written down
    "before settling": Seam(attempts, "settle", When.BEFORE),
    "after settling": Seam(attempts, "settle", When.AFTER),  # written, not committed
    "before the ack": Seam(Intake, "ack", When.BEFORE),  # committed
    "after the ack": Seam(Intake, "ack", When.AFTER),
}


def dead_at(seam: str, environ: Mapping[str, str], timeout_s: float = 30) -> int | None:
    """Run the process in the environment `environ` until it dies at `seam`; its exit status, None if it did not end."""
    with running("sends", environ, prepare=partial(make_mortal, seam)) as process:
        process.join(timeout_s)
        return process.exitcode


def make_mortal(seam: str) -> None:
    """From now on this process dies at `seam`."""
    owner, name, when = SEAMS[seam]
    setattr(owner, name, _dying(getattr(owner, name), when))


def _dying(real: Callable[..., Any], when: When) -> Callable[..., Any]:
    def dying(*arguments: Any, **named: Any) -> Any:
        if when is When.AFTER:
            real(*arguments, **named)
        os._exit(KILLED)

    return dying
