"""What a classification rule may ask of a JSON value, and how values are found and compared.

Owns the meaning of conditions, once for all providers:

- a key is a dotted path into nested objects; a key that stands there whole, dots included, is tried first;
- null is the same as absent;
- text and numbers: equal as text, ASCII letters of either case alike; booleans: only the very same boolean;
- a tuple: any of its members; ABSENT, Prefix and Pattern: see their own lines.

Nothing here raises for any JSON value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Absent:
    """Holds where the value is missing or null."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """Holds where the value's text begins with `text`, ASCII letters of either case alike."""

    text: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """Holds where the regular expression `expression` is found anywhere in the value's text, as written."""

    expression: str


ABSENT = Absent()
Scalar: TypeAlias = str | int | bool
Condition: TypeAlias = Scalar | tuple[Scalar, ...] | Absent | Prefix | Pattern
Test: TypeAlias = Callable[[object], bool]


def found(event: object, key: str) -> object:
    """The value at dotted path `key` of `event`, or None where it is missing or null."""
    if not isinstance(event, dict):
        return None
    whole = event.get(key)
    if whole is not None or "." not in key:
        return whole
    value: object = event
    for part in key.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def comparable(value: object) -> str | None:
    """`value` as the text by which it is compared; None where it is neither text nor number."""
    if isinstance(value, str):
        # Only ASCII is folded: the Kelvin sign must not become a k.
        return value.lower() if value.isascii() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and value.bit_length() > 64:
        return None  # no code is so large, and Python refuses to print the largest
    return str(value)


def texts(condition: Condition | None) -> frozenset[str]:
    """The texts that fulfil `condition`, where a list of texts is all it is; else nothing."""
    members = [comparable(one) for one in (condition if isinstance(condition, tuple) else (condition,))]
    return frozenset() if None in members else frozenset(one for one in members if one is not None)


def test_of(condition: Condition) -> Test:
    """`condition` made ready to be asked of many values."""
    if isinstance(condition, Absent):
        return lambda value: value is None
    if isinstance(condition, tuple):
        tests = tuple(test_of(one) for one in condition)
        return lambda value: any(test(value) for test in tests)
    if isinstance(condition, bool):
        return lambda value: value is condition
    if isinstance(condition, Pattern):
        search = re.compile(condition.expression).search
        return lambda value: search(value if isinstance(value, str) else comparable(value) or "") is not None
    if isinstance(condition, Prefix):
        prefix = comparable(condition.text) or ""
        return lambda value: (comparable(value) or "").startswith(prefix)
    wanted = comparable(condition)
    return lambda value: value is not None and comparable(value) == wanted
