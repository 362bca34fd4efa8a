"""What a body may justify: who must be in it, as bounced or as complaining, before anybody is removed.

Written from the providers' documentation and not from our reading of it, so that the two can be held against each
other: an event that removes is justified by evidence of the same kind about exactly its address, or it is a fault.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from core.addresses import normalise
from core.events import Event, Kind

BLANKS = " \t\r\n"
_NAMED = re.compile(r"<([^<>]*)>")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class Evidence:
    """That of a hard bounce or a complaint; `about` is what stands where the body names the affected address."""

    kind: Kind
    about: str

    def justifies(self, event: Event) -> bool:
        """Whether it is of this kind, and about the address of `event` and nobody else."""
        return event.kind is self.kind and _names(self.about, event.recipient_verbatim) and _is_normal_form(event)


def justified(event: Event, evidence: Iterable[Evidence]) -> bool:
    """Whether `event` removes nobody, or one of `evidence` justifies that it does."""
    return not event.removes or any(one.justifies(event) for one in evidence)


def _names(text: str, address: str) -> bool:
    """Whether `text` is `address`, maybe with a display name, and holds no other."""
    written, bare = text.strip(BLANKS), address.lower()
    named = {one.strip(BLANKS) for one in (written, *_NAMED.findall(written))}
    rest = written.lower().replace(bare, "")
    return address in named and _QUOTED.sub("", address).count("@") == 1 and not re.search(r"[^\s@]@[^\s@]", rest)


def _is_normal_form(event: Event) -> bool:
    """Whether the two forms of an event's address are of one mailbox. What is not ASCII has a test suite of its own
    (core.addresses); here it must only not have become somebody else's on the way."""
    verbatim = event.recipient_verbatim
    if not verbatim.isascii():
        return event.recipient == normalise(verbatim).normal == unicodedata.normalize("NFC", event.recipient)
    return event.recipient.replace('"', "") == verbatim.lower().replace('"', "").removesuffix(".")
