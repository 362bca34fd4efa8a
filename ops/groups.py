"""Dead letters grouped by lane and reason, with counts and ages; bounded memory, however many there are. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ops.letters import Lane, Letter

SAMPLE = 3  # ids shown of a group unless all are asked for


@dataclass(slots=True)
class Group:
    """Letters of one lane that have one reason in common; `replayed` of them had been put back before."""

    lane: Lane
    reason: str
    count: int = 0
    replayed: int = 0
    oldest: datetime | None = None
    newest: datetime | None = None
    ids: list[str] = field(default_factory=list)

    def add(self, letter: Letter, ids_limit: int | None) -> None:
        """Count `letter` in; at most `ids_limit` ids are kept (None: all)."""
        self.count += 1
        self.replayed += letter.replays > 0
        since = letter.since
        if since is not None:
            self.oldest = min(self.oldest or since, since)
            self.newest = max(self.newest or since, since)
        if ids_limit is None or len(self.ids) < ids_limit:
            self.ids.append(letter.id)

    def as_json(self) -> dict[str, Any]:
        """The group as JSON values; times are ISO 8601, null where unknown."""
        return {
            "lane": self.lane.value,
            "reason": self.reason,
            "count": self.count,
            "replayed": self.replayed,
            "oldest": self.oldest and self.oldest.isoformat(),
            "newest": self.newest and self.newest.isoformat(),
            "ids": self.ids,
        }


def grouped(letters: Iterable[Letter], ids_limit: int | None = SAMPLE) -> list[Group]:
    """The groups of `letters`, lane by lane, the largest first."""
    groups: dict[tuple[Lane, str], Group] = {}
    for letter in letters:
        key = (letter.lane, letter.reason)
        group = groups.get(key) or groups.setdefault(key, Group(*key))
        group.add(letter, ids_limit)
    lanes = list(Lane)
    return sorted(groups.values(), key=lambda group: (lanes.index(group.lane), -group.count, group.reason))
