"""GET /openapi.json: the OpenAPI document of every route of the application that serves it.

Made from the URL map, the marshmallow schemas, and what each view says of itself (webhook.operation). A deployment
without API_TOKENS has no API, and none in its document; `python -m webhook.openapi` prints the one of all routes.
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Blueprint, Flask, Response, current_app
from werkzeug.routing import Rule

from config import settings
from core.telemetry import Counters
from webhook.api import auth, errors
from webhook.operation import Body, Meaning, Media, Operation, describe, described

_VERSION = "1"  # of the API: another where what worked would no longer
_BEARER = "bearer"
_ABOUT = """\
Webhooks of email providers, and an API for campaigns and recipients. Refusals are JSON with `error`; what no route
matches is 404, and 405 names in `Allow` what would. Wherever GET is answered, so is HEAD."""
_DOCUMENT = Media("application/json", "An OpenAPI document.", {"type": "object"})
_PARAMETERS = {
    "address": "An email address. A slash in its local part may be written as it is.",
    "call_id": "The number of a send call, from `undecided` of its campaign.",
    "campaign_id": "The id that the campaign was given when it was created.",
    "provider": "The provider's name, in lower case.",
}


def blueprint() -> Blueprint:
    """Route /openapi.json."""
    routes = Blueprint("openapi", __name__)
    text = cache(_text)

    @routes.get("/openapi.json")
    @describe("This document", {200: Meaning("OpenAPI 3.1.", _DOCUMENT)})
    def serve() -> Response:
        return Response(text(current_app._get_current_object()), mimetype="application/json")  # type: ignore[attr-defined]

    return routes


def document(app: Flask) -> dict[str, Any]:
    """The OpenAPI document of `app`; raises LookupError where a route, or a variable in one, is not described."""
    spec = APISpec("mailward", _VERSION, "3.1.0", [MarshmallowPlugin()], info={"description": _ABOUT})
    spec.components.security_scheme(_BEARER, {"type": "http", "scheme": "bearer", "description": "One of API_TOKENS."})
    for rule in app.url_map.iter_rules():
        spec.path(_path(rule), operations=dict(_operations(app, rule)), parameters=_path_parameters(rule))
    made: dict[str, Any] = spec.to_dict()
    return made


def _path(rule: Rule) -> str:
    return re.sub(r"<(?:[^:<>]*:)?([^<>]*)>", r"{\1}", rule.rule)


def _path_parameters(rule: Rule) -> list[dict[str, object]]:
    text = {"type": "string", "minLength": 1}
    names = re.findall(r"{(\w*)}", _path(rule))
    return [
        {"in": "path", "name": name, "description": _PARAMETERS[name], "schema": text, "required": True}
        for name in names
    ]


def _operations(app: Flask, rule: Rule) -> Iterator[tuple[str, dict[str, object]]]:
    said = described(app.view_functions[rule.endpoint])
    guarded = auth.is_guarded(app, rule.endpoint)
    everybody = {401: auth.REFUSED, 503: errors.AWAY} if guarded else {}
    area, _, name = rule.endpoint.partition(".")
    for method in sorted((rule.methods or set()) - {"OPTIONS"} - ({"HEAD"} if not said.head else set())):
        yield (
            method.lower(),
            {
                "operationId": f"{area}_{name}" if method != "HEAD" else f"{area}_{name}_head",
                "tags": [area],
                "summary": said.summary,
                "security": [{_BEARER: []}] if guarded else [],
                **_request(said),
                "responses": {
                    str(status): _answer(meaning, method)
                    for status, meaning in sorted({**everybody, **said.answers}.items())
                },
            },
        )


def _request(said: Operation) -> dict[str, object]:
    given = (("query", said.query), ("header", said.headers))
    parameters = [{"in": place, "schema": schema} for place, schema in given if schema is not None]
    request: dict[str, object] = {"parameters": parameters} if parameters else {}
    if said.body:
        required = any(_is_required(one) for one in said.body)
        request["requestBody"] = {"content": _content(*said.body), "required": required}
    return request


def _is_required(body: Body) -> bool:
    return not isinstance(body, Media) and any(field.required for field in body().fields.values())


def _answer(meaning: Meaning, method: str) -> dict[str, object]:
    headers = {
        name: {"description": why, "required": True, "schema": {"type": "string"}}
        for name, why in meaning.headers.items()
    }
    answer: dict[str, object] = {"description": meaning.description}
    if headers:
        answer["headers"] = headers
    if meaning.body is not None and method != "HEAD":
        answer["content"] = _content(meaning.body)
    return answer


def _content(*bodies: Body) -> dict[str, dict[str, object]]:
    return dict(_media(one) for one in bodies)


def _media(body: Body) -> tuple[str, dict[str, object]]:
    if not isinstance(body, Media):
        return "application/json", {"schema": body}
    example = {} if body.example is None else {"example": body.example}
    return body.media_type, {"schema": {**body.schema, "description": body.description}, **example}


def _text(app: Flask) -> str:
    return json.dumps(document(app), indent=2) + "\n"


def _main() -> None:
    """Print the document of every route; nothing connects, and no setting is read."""
    from webhook import wsgi  # which serves this module

    every_route = {"API_TOKENS": "a-token-so-that-there-is-an-api", "DATABASE_URL": "sqlite://"}
    sys.stdout.write(_text(wsgi.application(settings.load(every_route), Counters())))


if __name__ == "__main__":
    _main()
