"""Bodies that a provider might post and ones that it never would, grown from its recorded payloads.

A few places of a payload change: an odd value, what stands at that place in another payload, an item or member more or
less, another case. Then the whole is written in its own shape again, and sometimes its bytes are damaged.
"""

from copy import deepcopy
from functools import cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

from bench.fuzz.shapes import recorded

MOST_CHANGES = 5
JANE, JOHN, THIRD = "jane.doe@example.com", "john@example.org", "Third.Party@example.net"

Place: TypeAlias = tuple[Any, Any, str]
"""A container, the key or index in it, and the name that says what stands there in any payload."""

ADDRESSES = (
    THIRD,
    f"Third Party <{THIRD}>",
    f'"{THIRD}" <{THIRD}>',
    f" <{THIRD.upper()}>\t",
    f"{JANE}, {THIRD}",
    f"{JANE};{THIRD}",
    f"{JANE} {THIRD}",
    f"<{JANE}> <{THIRD}>",
    f"{JANE} <{THIRD}>",
    f'"{JANE}, {JOHN}" <{THIRD}>',
    f"Doe, Jane <{THIRD}>",
    f"{THIRD}\r\nBcc: {JANE}",
    f"{THIRD}\x00",
    f"{THIRD}(comment)",
    f"{THIRD}@example.org",
    "third.p\u200barty@example.net",
    "th\u0456rd.party@example.net",
    "third.party@\uff45xample.net",
    "third.party@b\u00fccher.example",
    "\ud800third.party@example.net",
    '"third party"@example.net',
    "third.party@[127.0.0.1]",
    "third.party",
    "@example.net",
    "*",
    "x" * 5000 + "@example.net",
)
TEXTS = (
    "",
    " ",
    "\x00",
    "\x1b[2J",
    "\u202e\u2028",
    "\ud800",
    "\u212a",
    "%n%s{0}",
    "'; DROP TABLE journal; --",
    "true",
    "10",
    "5.1.1",
    "10.5.1.1",
    "550 5.1.1 no such user " * 500,
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    "2026-02-30T00:00:00Z",
    "2026-11-22T23:41:12.126Z" * 50,
)
NUMBERS = (0, -1, 1, 7, 550, 2**63, 10**400, 1e308, -0.5, float("nan"), float("inf"), 1795390872126)
OTHERS = (None, True, False, [], {}, [[]], [None], {"": None}, [THIRD], [JANE, THIRD], {"email": THIRD}, [{}] * 3)

odd_values = st.one_of(
    st.sampled_from((*ADDRESSES, *TEXTS, *NUMBERS)),
    st.sampled_from(OTHERS),
    st.text(st.characters(exclude_categories=()), max_size=6),  # lone surrogates and controls included
)
CHANGES = ("odd", "odd", "other", "other", "other", "drop", "add", "add", "wrap", "case")


def places(structure: Any, name: str = "") -> list[Place]:
    """Every place inside `structure`, which is called `name` itself."""
    if isinstance(structure, dict):
        here: list[Place] = [(structure, key, str(key)) for key in structure]
    elif isinstance(structure, list):
        here = [(structure, index, f"{name}[]") for index in range(len(structure))]
    else:
        return []
    return here + [place for container, key, inner in here for place in places(container[key], inner)]


@cache
def vocabulary(provider: str) -> dict[str, list[Any]]:
    """The name of a place → everything that stands there in a recorded payload of `provider`, each thing once."""
    found: dict[str, list[Any]] = {}
    for one in recorded(provider):
        for container, key, name in places([one.structure()]):
            if container[key] not in (known := found.setdefault(name, [])):
                known.append(container[key])
    return found


@st.composite
def bodies(draw: st.DrawFn, provider: str) -> bytes:
    """A body of `provider`, whole or damaged."""
    one = draw(st.sampled_from(recorded(provider)))
    known, root = vocabulary(provider), [one.structure()]
    for _ in range(draw(st.integers(0, MOST_CHANGES))):
        found = places(root)
        container, key, name = found[draw(st.integers(0, len(found) - 1))]
        _change(draw, container, key, known.get(name, [None]))
    written = one.write(root[0], draw(st.booleans()))
    return written if draw(st.integers(0, 5)) else _damaged(draw, written)


def _change(draw: st.DrawFn, container: Any, key: Any, known: list[Any]) -> None:
    """Change what stands at `key` of `container`, where `known` stand in recorded payloads."""
    value = container[key]
    match draw(st.sampled_from(CHANGES)):
        case "odd":
            container[key] = deepcopy(draw(odd_values))
        case "other":
            container[key] = deepcopy(draw(st.sampled_from(known)))
        case "wrap":
            container[key] = [value]
        case "case" if isinstance(value, str):
            container[key] = value.swapcase()
        case "add" if isinstance(container, list):
            container.insert(key, deepcopy(draw(st.sampled_from(known))))
        case "drop" if len(container) > 1:
            del container[key]
