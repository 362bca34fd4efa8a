"""Which letters an operator means: by id (or the beginning of one), by reason, or all. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.errors import MailwardError
from ops.letters import Lane, Letter


class NoSuchLetter(MailwardError):
    """An id that names no letter, or the beginning of several ids."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Letters of `lanes`: those whose id is one of `ids`, those whose reason holds `reason`, or all of them."""

    lanes: frozenset[Lane]
    ids: tuple[str, ...] = ()
    reason: str = ""

    def takes(self, letter: Letter) -> bool:
        """Whether `letter` is meant."""
        if letter.lane not in self.lanes:
            return False
        if self.ids:
            return letter.id in self.ids
        return self.reason.casefold() in letter.reason.casefold()


def unabbreviated(wanted: Sequence[str], present: Iterable[str]) -> tuple[str, ...]:
    """The one id among `present` that each of `wanted` is or begins; NoSuchLetter where that is none or several."""
    known = set(present)
    return tuple(_one(prefix, known) for prefix in wanted)


def _one(prefix: str, known: set[str]) -> str:
    if prefix in known:
        return prefix
    matching = sorted(one for one in known if one.startswith(prefix))
    if not matching:
        raise NoSuchLetter("no_such_letter", f"no letter has the id {prefix}; `mailward dlq list --ids` shows them")
    if len(matching) > 1:
        shown = ", ".join(matching[:3]) + (", …" if len(matching) > 3 else "")
        raise NoSuchLetter("ambiguous", f"{len(matching)} letters begin with {prefix}: {shown}; write more of it")
    return matching[0]
