"""How the campaign API says no: `{"error": …}`, and what the error is about where that helps."""

from collections.abc import Sequence

from flask import Blueprint, Response, jsonify
from marshmallow import ValidationError

from core.ledger.campaigns import Refused
from sender.render import BadTemplate, RenderError
from sender.rendering_check import NotRenderable
from sender.store_audience import BadFilter
from webhook.api import errors
from webhook.api.campaign_answers import rendering

_MISSING = ("no_such_campaign", "no_such_call")


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
    answer = jsonify(error=error.text, code=error.code)
    answer.status_code = 404 if error.code in _MISSING else 409
    return answer


def _not_renderable(error: NotRenderable) -> Response:
    return _rendering("some mails cannot be made; nothing was sent", error.errors, error.count)


def _rendering(text: str, some: Sequence[RenderError], count: int) -> Response:
    answer = jsonify(error=text, code="not_renderable", count=count, errors=rendering(some))
    answer.status_code = 422
    return answer


def _invalid(fields: dict[str, object]) -> Response:
    answer = jsonify(error="the request is not acceptable", fields=fields)
    answer.status_code = 422
    return answer
