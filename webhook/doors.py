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
from marshmallow import Schema, fields
from werkzeug.exceptions import MethodNotAllowed, NotFound

from webhook.endpoint import Answer, Endpoint
from webhook.operation import Meaning, Media, describe

RETRY_AFTER_S = 5
_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}

Door = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class ReceivedSchema(Schema):
    """What became of the events of a post."""

    queued = fields.Integer(required=True)
    parked = fields.Integer(required=True)
    counted = fields.Integer(required=True)


_UNKNOWN = Meaning("No such provider, or one without its settings.")
_BUSY = Meaning("Not durably handed over, so it must be sent again.", headers={"Retry-After": "In how many seconds."})
_PROBED = {
    200: Meaning("It can.", None),
    404: _UNKNOWN,
    405: Meaning(
        "It can, but this provider does not ask with this method.", headers={"Allow": "The methods that it may use."}
    ),
}
_RECEIVED = {
    200: Meaning("Every event is confirmed by the broker, or needs no work.", ReceivedSchema),
    401: Meaning("The signature or the credentials are missing or wrong.", headers={"WWW-Authenticate": "Basic."}),
    404: _UNKNOWN,
    413: Meaning("The body is over the limit for this provider."),
    429: Meaning("As 503, to providers that would not send again after one.", headers=_BUSY.headers),
    503: _BUSY,
}
_POSTED = tuple(
    Media(media_type, "As the provider posts it.", {})
    for media_type in ("application/json", "application/x-www-form-urlencoded", "text/plain")
)


def route(endpoint: Endpoint) -> Blueprint:
    """POST /webhooks/<provider> as a Flask route, and the methods with which some providers ask whether it is there."""
    blueprint = Blueprint("webhooks", __name__)

    @blueprint.route("/webhooks/<provider>", methods=["GET", "HEAD"])
    @describe("Whether the provider can post here, for those that ask", _PROBED, head=True)
    def probe(provider: str) -> Response:
        configured = endpoint.providers.get(provider)
        if configured is None:
            raise NotFound
        if request.method not in configured.answers.probes:
            raise MethodNotAllowed(["POST", *sorted(configured.answers.probes)])
        return Response(status=200)

    @blueprint.post("/webhooks/<provider>")
    @describe("Take events; each provider proves itself in its own way", _RECEIVED, body=_POSTED)
    def receive(provider: str) -> Response:
        status, headers, body = _rendered(endpoint.answer(provider, request.environ))
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
    if answer.status == HTTPStatus.UNAUTHORIZED:  # SNS sends the credentials of its URL only after this
        headers.append(("WWW-Authenticate", 'Basic realm="mailward"'))
    if answer.try_again:
        headers.append(("Retry-After", str(RETRY_AFTER_S)))
    return _STATUS_LINES[answer.status], headers, body
