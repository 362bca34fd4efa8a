"""A classification table as Markdown for users: what happens to every event, rule by rule. Pure."""

import re
from collections.abc import Iterator, Sequence

from core.events import QUEUED, REMOVING, Kind
from providers.conditions import Absent, Condition, Pattern, Prefix
from providers.rules import Rule, Table

# What is common in the tables: literal text, then perhaps a choice of texts, between two ends.
_PLAIN = re.compile(
    r"(?P<begin>\^|\\b|\(\?<!\[\\w\.\]\))?(?P<literal>(?:[\w -]|\\\.)*)"
    r"(?:\((?:\?:)?(?P<choice>[\w |-]+)\))?(?P<end>\$|\\b(?:\(\?!\\\.\[0-9\]\))?)?"
)
_BETWEEN = {
    ("^", "$"): "is",
    ("^", None): "begins with",
    (None, "$"): "ends with",
    (None, None): "contains",
    (r"\b", r"\b"): "contains the word",
    (r"(?<![\w.])", r"\b(?!\.[0-9])"): "contains the code",
}


def table_lines(table: Table, switches: dict[str, bool]) -> Iterator[str]:
    """The rows of a Markdown table; `switches` says for each policy whether it is on unless set otherwise."""
    yield "| rule | when | kind | what happens |"
    yield "|---|---|---|---|"
    for rule in table.rules:
        happens = _escaped(f"{_effects(rule, switches)}{f'; {rule.note}' if rule.note else ''}", "|*<")
        yield f"| `{rule.name}` | {_escaped(when(rule), '|')} | {_kinds(rule, switches)} | {happens} |"


def when(rule: Rule) -> str:
    """The conditions of `rule` in words."""
    return ", ".join(f"`{path}` {_holds(condition)}" for path, condition in rule.match.items()) or "everything else"


def effect(kind: Kind) -> str:
    """What becomes of an event of `kind`, in a word or two."""
    if kind in REMOVING:
        return "removed"
    return "kept" if kind in QUEUED else "counted only"


def _holds(condition: Condition) -> str:
    if isinstance(condition, Absent):
        return "is missing"
    if isinstance(condition, Prefix):
        return f"begins with `{condition.text}`"
    if isinstance(condition, Pattern):
        return _matches(condition.expression)
    if isinstance(condition, tuple):
        return f"is {_either([_value(one) for one in condition])}"
    return f"is {_value(condition)}"


def _matches(expression: str) -> str:
    """A regular expression in words where it is a plain one, else as it is."""
    plain = _PLAIN.fullmatch(expression)
    words = _BETWEEN.get((plain["begin"], plain["end"])) if plain else None
    if plain is None or words is None:
        return f"matches `{expression}`"
    literal = plain["literal"].replace("\\.", ".")
    return f"{words} {_either([f'`{literal}{one}`' for one in (plain['choice'] or '').split('|')])}"


def _value(value: str | int) -> str:
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`" if value != "" else "empty"


def _either(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


def _kinds(rule: Rule, switches: dict[str, bool]) -> str:
    return "; ".join(f"{_strong(kind)}{condition}" for kind, condition in _verdicts(rule, switches))


def _effects(rule: Rule, switches: dict[str, bool]) -> str:
    return "; ".join(f"{effect(kind)}{condition}" for kind, condition in _verdicts(rule, switches))


def _verdicts(rule: Rule, switches: dict[str, bool]) -> Iterator[tuple[Kind, str]]:
    """The kinds that `rule` may decide, first the one without any setting, each with what has to be set for it."""
    if rule.policy is None or rule.otherwise is None:
        yield rule.kind, ""
        return
    is_on = switches[rule.policy]
    usual, other = (rule.kind, rule.otherwise) if is_on else (rule.otherwise, rule.kind)
    yield usual, ""
    yield other, f" with `{rule.policy.upper()}={str(not is_on).lower()}`"


def _strong(kind: Kind) -> str:
    return f"**{kind}**" if kind in REMOVING else kind.value


def _escaped(text: str, marks: str) -> str:
    return "".join(f"\\{one}" if one in marks else one for one in text)
