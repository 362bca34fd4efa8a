"""How the endpoint is reached: by a Flask route, and for configured providers by a shortcut past Flask.

Flask's contexts, routing and response objects cost as much as proof, normal form and publishing together. So a POST to
the door of a configured provider is answered before Flask sees it; the route answers the rest: other methods, unknown
names. Both give the same answers, which a test holds against each other.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.exceptions import MethodNotAllowed, NotFound

from webhook.endpoint import Answer, Endpoint

RETRY_AFTER_S = 5
_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}

Door = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def route(endpoint: Endpoint) -> Blueprint:
    """POST /webhooks/<name> as a Flask route, and the methods with which some providers ask whether it is there."""
    blueprint = Blueprint("webhooks", __name__)

    @blueprint.route("/webhooks/<name>", methods=["GET", "HEAD"])
    def probe(name: str) -> Response:
        provider = endpoint.providers.get(name)
        if provider is None:
            raise NotFound
        if request.method not in provider.answers.probes:
            raise MethodNotAllowed(["POST", *sorted(provider.answers.probes)])
        return Response(status=200)

    @blueprint.post("/webhooks/<name>")
    def receive(name: str) -> Response:
        status, headers, body = _rendered(endpoint.answer(name, request.environ))
        return Response(body, status, headers)

    return blueprint


def shortcuts(endpoint: Endpoint) -> Mapping[str, Door]:
    """Path → WSGI application, for the POSTs of each configured provider."""
    return {f"/webhooks/{name}": _door(endpoint, name) for name in endpoint.providers}


def _door(endpoint: Endpoint, name: str) -> Door:
    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        status, headers, body = _rendered(endpoint.answer(name, environ))
        start_response(status, headers)
        return [body]

    return answer


def _rendered(answer: Answer) -> tuple[str, list[tuple[str, str]], bytes]:
    body = json.dumps(answer.body).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    if answer.try_again:
        headers.append(("Retry-After", str(RETRY_AFTER_S)))
    return _STATUS_LINES[answer.status], headers, body
