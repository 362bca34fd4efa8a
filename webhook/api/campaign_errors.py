"""How the campaign API says no: `{"error": …}`, and what the error is about where that helps."""

from collections.abc import Sequence

from flask import Blueprint, Response
from marshmallow import Schema, ValidationError, fields

from core.ledger.campaigns import Refused
from sender.render import BadTemplate, RenderError
from sender.rendering_check import NotRenderable
from sender.store_audience import BadFilter
from webhook.api import errors, schemas
from webhook.operation import ErrorSchema, Meaning

_MISSING = ("no_such_campaign", "no_such_call")


class RenderErrorSchema(Schema):
    """What is wrong with whose mail."""

    recipient_id = fields.String(required=True)
    part = fields.String(required=True)
    field = fields.String(required=True, attribute="variable")
    reason = fields.String(required=True)


class CampaignErrorSchema(ErrorSchema):
    """`code` is for programs; `fields` says by name what is wrong with the request, `errors` what with the first mails
    of the `count` that cannot be made."""

    code = fields.String()
    count = fields.Integer()
    wrong = fields.Dict(fields.String(), fields.Raw(), data_key="fields")
    broken = fields.List(fields.Nested(RenderErrorSchema), data_key="errors")


NO_CAMPAIGN = {404: Meaning("There is no such campaign.", CampaignErrorSchema)}
CONFLICT = {409: Meaning("The state of things does not allow it; `code` says why.", CampaignErrorSchema)}
INVALID = {422: Meaning("Readable, but not acceptable.", CampaignErrorSchema)}


def register(blueprint: Blueprint) -> None:
    """Answer the errors of `blueprint`'s routes, those of every API included."""
    errors.register(blueprint)
    blueprint.register_error_handler(Refused, _refused)
    blueprint.register_error_handler(NotRenderable, _not_renderable)
    blueprint.register_error_handler(RenderError, lambda error: _rendering(str(error), [error], 1))
    blueprint.register_error_handler(BadTemplate, lambda error: _invalid({error.part: [str(error)]}))
    blueprint.register_error_handler(BadFilter, lambda error: _invalid({"filter": [str(error)]}))
    blueprint.register_error_handler(ValidationError, lambda error: _invalid(error.normalized_messages()))


def _refused(error: Refused) -> Response:
    return _answer(404 if error.code in _MISSING else 409, error=error.text, code=error.code)


def _not_renderable(error: NotRenderable) -> Response:
    return _rendering("some mails cannot be made; nothing was sent", error.errors, error.count)


def _rendering(text: str, some: Sequence[RenderError], count: int) -> Response:
    return _answer(422, error=text, code="not_renderable", count=count, broken=some)


def _invalid(wrong: dict[str, object]) -> Response:
    return _answer(422, error="the request is not acceptable", wrong=wrong)


def _answer(status: int, **said: object) -> Response:
    answer = schemas.answer(CampaignErrorSchema, said)
    answer.status_code = status
    return answer
