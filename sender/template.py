"""One part of a mail (subject, html or text) as a compiled template: render it, and know what it needs beforehand."""

from collections import defaultdict
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from jinja2 import Template, meta, nodes
from jinja2.exceptions import TemplateError, TemplateSyntaxError

from sender.template_language import MOST_STEPS, STEPS, Language, MissingField

OUTPUT_LIMIT = 1024 * 1024  # characters of one rendered part; Resend takes 40 MB a mail, nobody reads so much

# What evaluating a template can raise. The texts of the first kind name types or are ours; others might quote a value.
_SPEAKING = (TypeError, ArithmeticError)
_FAILURES = (TemplateError, ValueError, LookupError, AttributeError, AssertionError, RecursionError, *_SPEAKING)


class BadTemplate(ValueError):
    """The template cannot be used for anybody: `part`, `line` and `reason`."""

    def __init__(self, part: str, line: int, reason: str) -> None:
        super().__init__(f"{part}, line {line}: {reason}")
        self.part, self.line, self.reason = part, line, reason


class Unrenderable(Exception):
    """The template cannot be rendered for these fields: `variable` (perhaps several, or none known) and `reason`."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(f"{variable}: {reason}")
        self.variable, self.reason = variable, reason


class Part:
    """A template of the part `name`; `html` parts escape what they merge. Raises BadTemplate."""

    def __init__(self, name: str, source: str, *, html: bool, limit: int = OUTPUT_LIMIT) -> None:
        language = Language(html)
        try:
            self.tree = language.read(source)
            self._template: Template = language.from_string(self.tree)
        except TemplateSyntaxError as error:
            raise BadTemplate(name, error.lineno or 1, error.message or "cannot be read") from None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # Python's own limits: depth of blocks and expressions, length of numbers.
            raise BadTemplate(name, 1, "nested too deeply, or a number too long") from None
        self.name, self.limit = name, limit
        self.variables = frozenset(meta.find_undeclared_variables(self.tree))
        self._names: defaultdict[int, set[str]] = defaultdict(set)
        for one in self.tree.find_all(nodes.Name):
            self._names[one.lineno].add(one.name)

    def render(self, fields: dict[str, Any]) -> str:
        """The part with `fields` merged in; adds an entry to `fields`. Raises Unrenderable, which quotes no value."""
        fields[STEPS] = [MOST_STEPS]
        context = self._template.new_context(fields, shared=True)
        try:
            text = "".join(self._bounded(self._template.root_render_func(context)))
            if not text.isascii():
                text.encode()
        except MissingField as error:
            raise Unrenderable(str(error), "missing") from None
        except UnicodeEncodeError:
            raise Unrenderable(", ".join(sorted(self.variables)), "half of a character (a lone surrogate)") from None
        except _FAILURES as error:
            raise Unrenderable(*self._explained(error)) from None
        return text

    def _bounded(self, chunks: Iterator[str]) -> list[str]:
        kept, size = [], 0
        for chunk in chunks:
            size += len(chunk)
            if size > self.limit:
                raise OverflowError(f"more than {self.limit} characters")
            kept.append(chunk)
        return kept

    def _explained(self, error: Exception) -> tuple[str, str]:
        line = self._line(error.__traceback__)
        said = str(error) if isinstance(error, _SPEAKING) else type(error).__name__
        return ", ".join(sorted(self._names.get(line, ()))), f"line {line}: {said}"

    def _line(self, traceback: TracebackType | None) -> int:
        line = 1
        while traceback:
            if traceback.tb_frame.f_globals.get("__jinja_template__") is self._template:
                line = self._template.get_corresponding_lineno(traceback.tb_lineno)
            traceback = traceback.tb_next
        return line
