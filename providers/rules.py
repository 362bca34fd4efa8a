"""Classification as data: an ordered table of named rules over a provider's JSON, of which the first match decides.

Owns the order and the verdict; what a condition means is `providers.conditions`. Knows no provider.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from core.events import Kind
from providers.conditions import Condition, Test, comparable, found, test_of, texts

NO_CONDITIONS: Mapping[str, Condition] = MappingProxyType({})
NO_POLICIES: Mapping[str, bool] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a table: `kind` where every condition of `match` holds; no conditions match everything.

    `policy` names a switch: `kind` is the verdict while it is on, `otherwise` while it is off. `note` says why an odd
    line exists.
    """

    name: str
    kind: Kind
    match: Mapping[str, Condition] = field(default_factory=lambda: NO_CONDITIONS)
    policy: str | None = None
    otherwise: Kind | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if (self.policy is None) != (self.otherwise is None):
            raise ValueError(f"rule {self.name}: a policy and its other kind come together")

    def verdict(self, policies: Mapping[str, bool]) -> "Verdict":
        """What this rule says under `policies`. Raises KeyError where its policy is not set."""
        if self.policy is not None and self.otherwise is not None and not policies[self.policy]:
            return Verdict(self.otherwise, self.name)
        return Verdict(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The kind of an event and the name of the rule that decided it, which goes into logs, counters and the journal."""

    kind: Kind
    rule: str


@dataclass(frozen=True, slots=True)
class _Line:
    verdict: Verdict
    tests: tuple[tuple[str, Test], ...]

    def matches(self, event: object) -> bool:
        return all(test(found(event, key)) for key, test in self.tests)


@dataclass(frozen=True, slots=True)
class Table:
    """The rules of one shape of event; `discriminator` is the key that nearly every rule names."""

    rules: tuple[Rule, ...]
    discriminator: str

    def ready(self, policies: Mapping[str, bool] = NO_POLICIES) -> "Classifier":
        """The table made ready under `policies` (name → on). Raises as Classifier does."""
        return Classifier(self.rules, self.discriminator, policies)


class Classifier:
    """A table made ready; its lines are indexed by the discriminator's value."""

    def __init__(self, rules: Sequence[Rule], discriminator: str, policies: Mapping[str, bool] = NO_POLICIES) -> None:
        """Raises ValueError where the last rule does not match everything, KeyError where a policy is not set."""
        if not rules or rules[-1].match:
            raise ValueError("the last rule of a table must match everything")
        self._key = discriminator
        listed = {text for rule in rules for text in texts(rule.match.get(discriminator))}
        self._lines = {text: _lines(rules, discriminator, text, policies) for text in listed}
        self._other_lines = _lines(rules, discriminator, None, policies)

    def judge(self, event: object) -> Verdict:
        """The verdict of the first matching rule. Never raises, whatever JSON `event` is."""
        text = comparable(found(event, self._key))
        lines = self._other_lines if text is None else self._lines.get(text, self._other_lines)
        return next(line.verdict for line in lines if line.matches(event))


def _lines(rules: Sequence[Rule], key: str, text: str | None, policies: Mapping[str, bool]) -> tuple[_Line, ...]:
    """The rules that can still match once `key` is known to be `text` (None: none of the listed texts), without the
    conditions that this alone fulfils."""
    lines = []
    for rule in rules:
        wanted = texts(rule.match.get(key))
        if wanted and text not in wanted:
            continue
        left = {path: condition for path, condition in rule.match.items() if path != key or not wanted}
        lines.append(_Line(rule.verdict(policies), tuple((path, test_of(left[path])) for path in left)))
    return tuple(lines)
