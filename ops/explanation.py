"""What a body means, item by item: which rule decided, and what would come of it. Pure.

The stores are not asked, so of a removing event only the conditions can be told under which it would remove.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.events import QUEUED, Event, Kind
from providers.base import CountedItem, Normalised, ParkedItem
from providers.outcome import WHOLE_BODY
from providers.rules import Rule

NO_RULE = Rule("", Kind.OTHER)
Rules = Mapping[str, Rule]  # by name


class Effect(StrEnum):
    """What would become of an item."""

    REMOVE = "remove"
    KEEP = "keep"
    COUNT = "count"
    PARK = "park"


@dataclass(frozen=True, slots=True)
class Explained:
    """One item: its index in the body (-1: the body as a whole), what it is, by which rule, and what would happen.

    `kind` is None where nothing could be understood; `event` is what would be queued, or of a removing item without a
    recipient what would be but for that. `n` is over 1 where items were counted without being told apart.
    """

    index: int
    kind: Kind | None
    rule: Rule
    effect: Effect
    says: str
    event: Event | None = None
    n: int = 1


def explained(said: Normalised, rules: Iterable[Rule]) -> list[Explained]:
    """Every item of `said`, in the order of the body; `rules` are those of the provider's tables."""
    by_name = {rule.name: rule for rule in rules}
    # A provider whose bodies are one item gives no indexes.
    indexed = zip(said.indexes or (0,) * len(said.events), said.events, strict=True)
    items = [
        *(_queued(index, event, by_name) for index, event in indexed),
        *(_parked(item, by_name) for item in said.parked),
        *(_counted(item, by_name) for item in said.counted_items),
    ]
    return [*sorted(items, key=lambda item: item.index), *_untold(said)]


def unreadable(items: Iterable[Explained]) -> str:
    """Why the body as a whole cannot be read, or an empty text."""
    return next((item.says for item in items if item.index == WHOLE_BODY and item.effect is Effect.PARK), "")


def policy(item: Explained) -> str:
    """Which switch has a say in the item's rule, and what it would be otherwise; an empty text where none has."""
    rule = item.rule
    if rule.policy is None or rule.otherwise is None or item.kind is None:
        return ""
    is_on = item.kind is rule.kind
    other = rule.otherwise if is_on else rule.kind
    return f"{rule.policy.upper()}={str(is_on).lower()}; with {str(not is_on).lower()} it would be {other}"


def _queued(index: int, event: Event, rules: Rules) -> Explained:
    rule = _rule(rules, event.rule, event.kind)
    if not event.removes:
        return Explained(index, event.kind, rule, Effect.KEEP, "passed on; removes nobody", event)
    at = event.occurred_at.isoformat()
    says = (
        f"removes the record of {event.recipient}; stale, and it stays, if its consent or a restore is newer than {at}"
    )
    if event.single_use:
        says += "; no effect if its token has already proved another event"
    return Explained(index, event.kind, rule, Effect.REMOVE, says, event)


def _parked(item: ParkedItem, rules: Rules) -> Explained:
    event = item.unaddressed
    if event is None:
        return Explained(item.index, None, NO_RULE, Effect.PARK, item.reason)
    return Explained(item.index, event.kind, _rule(rules, event.rule, event.kind), Effect.PARK, item.reason, event)


def _counted(item: CountedItem, rules: Rules) -> Explained:
    says = "counted, and goes no further"
    if item.kind in QUEUED:
        says = f"names no single recipient, and would remove nobody: {says}"
    return Explained(item.index, item.kind, _rule(rules, item.rule, item.kind), Effect.COUNT, says)


def _rule(rules: Rules, name: str, kind: Kind) -> Rule:
    """The rule `name`: some decide before the tables do (the test button of a dashboard) and stand in none."""
    return rules.get(name, Rule(name, kind))


def _untold(said: Normalised) -> Iterator[Explained]:
    """What a provider counted without saying which items those were."""
    for kind, n in said.counted.items():
        if left := n - sum(item.kind is kind for item in said.counted_items):
            yield Explained(WHOLE_BODY, kind, NO_RULE, Effect.COUNT, "counted, and goes no further", n=left)
