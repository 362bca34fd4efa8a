"""How the API says no: one JSON shape, `{"error": …}`, and a status that tells whose turn it is."""

import logging

from flask import Blueprint, Response, jsonify
from marshmallow import ValidationError
from werkzeug.exceptions import HTTPException

from core.addresses import NotAnAddress
from core.admission import BadFence
from core.errors import Outage
from core.failures import judge
from core.recipient_files import BadFile
from core.recipients import WrongType
from core.restore import NeverJournalled, NewerRecord
from webhook.operation import Meaning

RETRY_AFTER_S = 5
AWAY = Meaning("Redis or SQL is away or refuses.", headers={"Retry-After": "Seconds until it is worth another try."})

logger = logging.getLogger(__name__)


def register(blueprint: Blueprint) -> None:
    """Answer the errors of `blueprint`'s routes."""
    blueprint.register_error_handler(NotAnAddress, lambda error: answer(422, f"not one email address: {error}"))
    blueprint.register_error_handler(BadFence, lambda error: answer(422, str(error)))
    blueprint.register_error_handler(BadFile, lambda error: answer(422, str(error)))
    blueprint.register_error_handler(ValidationError, lambda error: answer(422, str(error)))
    blueprint.register_error_handler(NeverJournalled, lambda _: answer(404, "mailward never removed this address"))
    blueprint.register_error_handler(NewerRecord, lambda _: answer(409, "there is a newer record; force replaces it"))
    blueprint.register_error_handler(WrongType, lambda error: answer(409, error.text))
    blueprint.register_error_handler(HTTPException, lambda error: answer(error.code or 500, error.name.lower()))
    blueprint.register_error_handler(Exception, _failed)


def answer(status: int, error: str) -> Response:
    """The JSON answer for `error`."""
    response: Response = jsonify(error=error)
    response.status_code = status
    return response


def _failed(error: Exception) -> Response:
    verdict = judge(error)
    if verdict.kind is not Outage and not verdict.refusal:
        logger.error("api crashed", exc_info=error)
        return answer(500, "internal server error")
    logger.warning("api store away", extra={"error_type": type(error).__name__, "error": str(error)[:500]})
    response = answer(503, "Redis or SQL is away or refuses; try again")
    response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response
