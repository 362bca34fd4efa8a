"""Bodies that a provider might post and ones that it never would, grown from its recorded payloads.

A few places of a payload change: an odd value, what stands at such a place in another payload, an item or a member more
or less, another case. Then it is written in its own shape again, and one body in six is damaged after that.
"""

import re
from copy import deepcopy
from functools import cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

from bench.fuzz.odd import ADDRESSES, ODD
from bench.fuzz.shapes import recorded

MOST_CHANGES = 5
AIMS = ("anything", "anything", "addresses", "words")
CHANGES = ("odd", "odd", "other", "other", "other", "remove", "insert", "insert", "member", "wrap", "case", "alike")
ALIKE = str.maketrans("sk", "\u017f\u212a")  # which become s and k where case is folded carelessly
_WORD = re.compile(r"[A-Za-z][A-Za-z_. -]*")
DAMAGES = ("bytes", "bytes", "cut", "twice", "mark", "utf-16", "deep", "blank", "form")
WHOLE, BATCHED = "[]", "[][]"  # names of the whole structure, and of the items of one that is a list

Place: TypeAlias = tuple[Any, Any, str]
"""A container, the key or index in it, and the name that says what stands there in any payload."""


@st.composite
def bodies(draw: st.DrawFn, provider: str) -> bytes:
    """A body of `provider`, whole or damaged."""
    one = draw(st.sampled_from(recorded(provider)))
    root = [one.structure()]
    for _ in range(draw(st.integers(0, MOST_CHANGES))):
        found = _aimed_at(draw(st.sampled_from(AIMS)), places(root))
        _change(draw, provider, found[draw(st.integers(0, len(found) - 1))])
    written = one.write(root[0], draw(st.booleans()))
    return written if draw(st.integers(0, 5)) else _damaged(draw, written)


def _change(draw: st.DrawFn, provider: str, place: Place) -> None:
    container, key, name = place
    value, known = container[key], vocabulary(provider)
    others = st.sampled_from(known.get(name, [None]))
    match draw(st.sampled_from(CHANGES)):
        case "odd":
            container[key] = deepcopy(draw(st.sampled_from(ADDRESSES) if _is_address(place) else ODD))
        case "other":
            container[key] = deepcopy(draw(others))
        case "insert" if isinstance(container, list):
            container.insert(key, deepcopy(draw(others)))
        case "member" if isinstance(value, dict):
            member = draw(st.sampled_from([name for name in known if not name.endswith("[]")]))
            value[member] = deepcopy(draw(st.sampled_from(known[member])))
        case "remove" if len(container) > 1:
            del container[key]
        case "wrap":
            container[key] = [value]
        case "case" if isinstance(value, str):
            container[key] = value.swapcase()
        case "alike" if isinstance(value, str):
            container[key] = value.translate(ALIKE)


def _aimed_at(aim: str, found: list[Place]) -> list[Place]:
    """Of the places `found`, those where an address stands, or a word, which may be the type of an event; they are few
    among many. Without any, all."""
    match aim:
        case "addresses":
            return [one for one in found if _is_address(one)] or found
        case "words":
            return [one for one in found if _is_word(one[0][one[1]])] or found
        case _:
            return found


def _is_word(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and _WORD.fullmatch(value) is not None)


def _is_address(place: Place) -> bool:
    container, key, _ = place
    return isinstance(container[key], str) and "@" in container[key]


def _damaged(draw: st.DrawFn, written: bytes) -> bytes:
    at = draw(st.integers(0, len(written)))
    match draw(st.sampled_from(DAMAGES)):
        case "cut":
            return written[:at]
        case "twice":
            return written + written
        case "mark":
            return b"\xef\xbb\xbf" + written
        case "utf-16":
            return written.decode(errors="replace").encode("utf-16")
        case "deep":
            return written[:at] + b"[" * 50_000 + written[at:]
        case "blank":
            return b"\r\n \t" + written + b"\r\n"
        case "form":
            return b"payload=" + written
        case _:
            return written[:at] + draw(st.binary(max_size=6)) + written[at + draw(st.integers(0, 3)) :]


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
    """The name of a place → everything that stands there in the recorded payloads of `provider`, each thing once."""
    found: dict[str, list[Any]] = {}
    for one in recorded(provider):
        for container, key, name in places([one.structure()]):
            if container[key] not in (known := found.setdefault(name, [])):
                known.append(container[key])
    if BATCHED in found:  # who posts batches may post single events as well
        found[BATCHED] += [one for one in found[WHOLE] if isinstance(one, dict)]
    return found
