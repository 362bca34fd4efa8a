"""Which fields a template needs, if that is all that can go wrong with it.

Most templates print fields, with defaults and conditions. For those, a member whose fields are all there and plain is
known to be fine without rendering anything; whoever is not known to be fine is rendered, and that decides.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import nodes

from sender.template import Part

OURS = frozenset({"address", "unsubscribe_url"})  # merge fields that we provide
_LONGEST_OURS = 2000  # characters of either
_GROWTH = 15  # characters that one can become at most: three by upper-casing, each five by escaping
_LONGEST_NUMBER = 25

# None of these can fail on texts and numbers.
_FILTERS = frozenset(["capitalize", "d", "default", "lower", "safe", "string", "title", "trim", "upper"])
_DEFAULT = frozenset({"d", "default"})
_TESTS = frozenset({"defined", "undefined"})
_NODES = (
    nodes.Output, nodes.TemplateData, nodes.If, nodes.Name, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not,
    nodes.Concat, nodes.Operand, nodes.Compare, nodes.Const, nodes.Filter, nodes.Test,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Need:
    """One field: it must be there if `required`, and be a number or a text of at most `longest` characters."""

    name: str
    required: bool
    longest: int


def needs(parts: Iterable[Part]) -> tuple[Need, ...] | None:
    """The fields with which all `parts` surely render; None where only rendering can tell."""
    found: dict[str, Need] = {}
    for part in parts:
        if not all(_is_harmless(node) for node in part.tree.find_all(nodes.Node)):
            return None
        uses = Counter(one.name for one in part.tree.find_all(nodes.Name))
        room = part.limit - _size(part) - _GROWTH * _LONGEST_OURS * sum(uses[name] for name in OURS)
        longest = room // (_GROWTH * max(1, uses.total()))
        if longest < 1:
            return None
        for name in uses.keys() - OURS:
            before = found.get(name, Need(name, False, longest))
            required = before.required or uses[name] > _optional_uses(part, name)
            found[name] = Need(name, required, min(longest, before.longest))
    return tuple(found.values())


def always_says_something(part: Part) -> bool:
    """Whether the part is never blank, whatever the fields."""
    outputs = [node for node in part.tree.body if isinstance(node, nodes.Output)]
    return any(isinstance(one, nodes.TemplateData) and one.data.strip() for node in outputs for one in node.nodes)


def are_met(needs: tuple[Need, ...], variables: Mapping[str, Any]) -> bool:
    """Whether `variables` surely satisfy `needs`; False means that nobody knows yet."""
    for need in needs:
        value = variables.get(need.name)
        if type(value) is str:
            if len(value) > need.longest or not (value.isascii() or _encodes(value)):
                return False
        elif value is None:
            if need.required:
                return False
        elif type(value) not in (int, float, bool) or need.longest < _LONGEST_NUMBER or abs(value) > 1e15:
            return False
    return True


def _is_harmless(node: nodes.Node) -> bool:
    match node:
        case nodes.Const():
            return isinstance(node.value, str | int | float)
        case nodes.CondExpr():
            return node.expr2 is not None
        case nodes.Operand():
            return node.op in ("eq", "ne")
        case nodes.Filter():
            constants = all(isinstance(argument, nodes.Const) for argument in node.args)
            most = 2 if node.name in _DEFAULT else 0
            return node.name in _FILTERS and not node.kwargs and constants and len(node.args) <= most
        case nodes.Test():
            return node.name in _TESTS
    return isinstance(node, _NODES)


def _optional_uses(part: Part, name: str) -> int:
    """How often the field is used where it may as well be missing."""
    guards = part.tree.find_all((nodes.Filter, nodes.Test))
    guarded = [one.node for one in guards if one.name in _DEFAULT | _TESTS]
    return sum(isinstance(one, nodes.Name) and one.name == name for one in guarded)


def _size(part: Part) -> int:
    """Characters that the template itself can print."""
    texts = sum(len(one.data) for one in part.tree.find_all(nodes.TemplateData))
    return texts + _GROWTH * sum(len(str(one.value)) for one in part.tree.find_all(nodes.Const))


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
