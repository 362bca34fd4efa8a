"""What the OpenAPI document says of a route, written on its view, so that whoever changes one sees the other.

An operation is OpenAPI's word for a method on a path. webhook.openapi makes the document of these and the URL map.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from marshmallow import Schema, fields

View = TypeVar("View", bound=Callable[..., Any])

_ATTRIBUTE = "openapi_operation"


class ErrorSchema(Schema):
    """How every route says no."""

    error = fields.String(required=True)


@dataclass(frozen=True, slots=True)
class Media:
    """A body that is no JSON of ours. `schema` is JSON Schema: a text, unless it says more or ({}) nothing at all."""

    media_type: str
    description: str
    schema: Mapping[str, object] = field(default_factory=lambda: {"type": "string"})
    example: object = None


Body = type[Schema] | Media


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a status means. `body` is None where there is none; `headers` are those that always come along, and why."""

    description: str
    body: Body | None = ErrorSchema
    headers: Mapping[str, str] = field(default_factory=dict)


Meanings = Mapping[int, Meaning]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a view does, and everything that it may answer; what a guard before it answers is not its own.

    `body` has the forms from which a request chooses one. `query` and `headers` are parameters. `head`: that HEAD is
    answered is worth telling; elsewhere it is just what HTTP makes of a GET.
    """

    summary: str
    answers: Meanings
    body: tuple[Body, ...] = ()
    query: type[Schema] | None = None
    headers: type[Schema] | None = None
    head: bool = False


def describe(
    summary: str,
    answers: Meanings,
    *,
    body: tuple[Body, ...] = (),
    query: type[Schema] | None = None,
    headers: type[Schema] | None = None,
    head: bool = False,
) -> Callable[[View], View]:
    """Put an Operation on the view that is decorated."""
    operation = Operation(summary=summary, answers=answers, body=body, query=query, headers=headers, head=head)

    def decorate(view: View) -> View:
        vars(view)[_ATTRIBUTE] = operation
        return view

    return decorate


def described(view: Callable[..., Any]) -> Operation:
    """The Operation of a view; raises LookupError where it has none."""
    found: Operation | None = getattr(view, _ATTRIBUTE, None)
    if found is None:
        raise LookupError(f"{view!r} is a route that nobody has described: see webhook.operation")
    return found
