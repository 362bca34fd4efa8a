"""What a template may say: Jinja2, cut down to merging fields.

A template has values, filters, tests, `if` and `for`; it cannot call, assign, multiply, import or define. That, rather
than the sandbox alone, is what bounds its work: Jinja2's sandbox stops escapes, but not `{{ 'a' * 10**10 }}`, doubling
a variable in a loop, or `{{ name.upper }}`, which prints a method's place in memory and differs every time. The sandbox
stays beneath as the second line.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jinja2 import StrictUndefined, nodes, pass_context, pass_eval_context
from jinja2.exceptions import TemplateSyntaxError, UndefinedError
from jinja2.filters import FILTERS
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

MOST_STEPS = 10_000  # passes through all loops of one part of one mail
STEPS = "steps left"  # a key of the context that no template can name, since it is two words
LONGEST_JOINED = 1024 * 1024  # characters

_FILTERS = frozenset({
    "abs", "capitalize", "count", "d", "default", "e", "escape", "first", "float", "int", "items", "join", "last",
    "length", "list", "lower", "max", "min", "reverse", "safe", "sort", "string", "striptags", "sum", "title",
    "trim", "truncate", "unique", "upper", "urlencode", "wordcount",
})  # fmt: skip
_TESTS = frozenset({
    "boolean", "defined", "divisibleby", "even", "float", "integer", "iterable", "mapping", "none", "number", "odd",
    "sequence", "string", "undefined",
})  # fmt: skip
_LOOP = frozenset(["index", "index0", "revindex", "revindex0", "first", "last", "length", "depth", "depth0"])
_NODES = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Name, nodes.Const, nodes.Tuple,
    nodes.List, nodes.CondExpr, nodes.Filter, nodes.Test, nodes.Keyword, nodes.Compare, nodes.Operand, nodes.And,
    nodes.Or, nodes.Not, nodes.Neg, nodes.Pos, nodes.Add, nodes.Sub, nodes.Div, nodes.Concat, nodes.Getattr,
    nodes.Getitem, nodes.Slice,
)  # fmt: skip


class MissingField(UndefinedError):
    """A field was used that the recipient does not have; the message is its name."""


class Missing(StrictUndefined):
    """Stands for such a field until somebody uses it."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = missing,
        name: str | None = None,
        exc: type[Exception] = UndefinedError,
    ) -> None:
        super().__init__(hint, obj, name, UndefinedError if hint else MissingField)

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or str(self._undefined_name)


class Language(ImmutableSandboxedEnvironment):
    """The Jinja2 environment of one kind of part: `html` escapes what it merges."""

    def __init__(self, html: bool) -> None:
        super().__init__(undefined=Missing, autoescape=html, keep_trailing_newline=True, finalize=_printable)
        self.globals = {}
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.filters |= {"default": _default, "d": _default, "join": _join, "steps": _steps}
        self.tests = {name: self.tests[name] for name in _TESTS}

    def read(self, source: str) -> nodes.Template:
        """The tree of `source`; raises TemplateSyntaxError, also for whatever a template may not say."""
        tree = self.parse(source)
        for node in tree.find_all(nodes.Node):
            _allow(node)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "steps", [], [], None, None, lineno=loop.lineno)
            loop.iter.set_environment(self)
        return tree

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: a member of an object, or what a loop knows of itself. Never an attribute of Python's."""
        if isinstance(obj, LoopContext):
            return getattr(obj, attribute) if attribute in _LOOP else self.undefined(name=f"loop.{attribute}")
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`; a Missing where there is none, also of a Missing, so that `default` reaches any depth."""
        if isinstance(obj, Undefined):
            return self.undefined(name=f"{obj._undefined_name}.{argument}")
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(name=argument)


def _allow(node: nodes.Node) -> None:
    what = type(node).__name__.lower()
    if type(node) not in _NODES or (isinstance(node, nodes.For) and node.recursive):
        raise TemplateSyntaxError(f"{what} is not for templates, which merge fields and compute nothing", node.lineno)
    known = _FILTERS if isinstance(node, nodes.Filter) else _TESTS
    if isinstance(node, nodes.Filter | nodes.Test) and node.name not in known:
        raise TemplateSyntaxError(f"there is no {what} of that name here: {', '.join(sorted(known))}", node.lineno)
    if isinstance(node, nodes.Filter) and (node.dyn_args or node.dyn_kwargs):
        raise TemplateSyntaxError("a filter takes no * and **", node.lineno)


def _printable(value: Any) -> Any:
    """What may stand in a mail: texts and numbers. A list or an object would appear as Python spells it."""
    if isinstance(value, str | int | float | Undefined):
        return value
    if value is None:
        raise TypeError("null cannot be printed")
    raise TypeError("a list or an object cannot be printed")


def _default(value: Any, fallback: Any = "", boolean: bool = False) -> Any:
    """`fallback` for a field that is missing, null or blank ("Hello ," is what it is there to prevent); with `boolean`
    for false and 0 too, as in Jinja2."""
    absent = isinstance(value, Undefined) or value is None or (isinstance(value, str) and not value.strip())
    return fallback if absent or (boolean and not value) else value


@pass_eval_context
def _join(eval_ctx: nodes.EvalContext, values: Any, separator: str = "", attribute: str | int | None = None) -> str:
    """Jinja2's join, of bounded size and for what can be printed only."""
    entries = list(values)
    if attribute is not None:
        entries = [eval_ctx.environment.getitem(entry, attribute) for entry in entries]
    if sum(len(str(_printable(entry))) for entry in entries) + len(separator) * len(entries) > LONGEST_JOINED:
        raise OverflowError("joins too much")
    joined: str = FILTERS["join"](eval_ctx, entries, separator)
    return joined


@pass_context
def _steps(context: Context, values: Any) -> Iterator[Any]:
    """The entries of `values`, as long as the mail has steps left."""
    left = context[STEPS]
    entries = list(islice(values, left[0] + 1))
    left[0] -= len(entries)
    if left[0] < 0:
        raise OverflowError(f"loops more than {MOST_STEPS} times")
    return iter(entries)
