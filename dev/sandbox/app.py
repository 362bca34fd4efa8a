"""The sandbox's WSGI application: its routes, the API that stands for Resend's, and how answers go wrong."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from flask import Blueprint, Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from dev.sandbox import admin, pages
from dev.sandbox.endpoint import Reply, Request
from dev.sandbox.faults import Fault
from dev.sandbox.refusal import Refusal
from dev.sandbox.service import Options, Sandbox

BODY_LIMIT = 40 * 1024 * 1024  # bytes; Resend's limit for one mail

_REPLY = "sandbox.reply"  # where the WSGI environment carries a reply that must go wrong


def create_app(options: Options) -> Callable[..., Iterable[bytes]]:
    """The WSGI application. Starts greenlets: to be called in the worker that serves it."""
    sandbox = Sandbox(options)
    sandbox.courier.start()
    app = Flask("dev.sandbox", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_LIMIT
    app.register_blueprint(_api(sandbox))
    app.register_blueprint(admin.blueprint(sandbox))
    app.register_blueprint(pages.blueprint(sandbox))
    app.register_error_handler(HTTPException, _say_no)
    return _Misbehaving(app)


def _api(sandbox: Sandbox) -> Blueprint:
    api = Blueprint("api", __name__)

    @api.post("/emails/batch")
    def batch() -> Response:
        arrived = time.monotonic()
        headers = request.headers
        call = Request(arrived, headers.get("Authorization", ""), headers.get("Idempotency-Key"), request.get_data())
        reply = sandbox.endpoint.receive(sandbox.state, call)
        if reply.fault is not None:
            request.environ[_REPLY] = reply
        return _response(reply.status, reply.content, reply.headers)

    return api


class _Misbehaving:
    """Lets replies go wrong where Flask could not: under the feet of the web server."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        answer = self._app(environ, start_response)
        reply: Reply | None = environ.get(_REPLY)
        if reply is None:
            return answer
        if reply.fault is Fault.CUT_ACCEPTED:
            half = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{"data":[{"id":"'
            environ["gunicorn.socket"].sendall(half)
        raise StopIteration  # gunicorn closes the connection without another word


def _say_no(error: HTTPException) -> Response:
    name = {404: "not_found", 405: "method_not_allowed"}.get(error.code or 500, "validation_error")
    refusal = Refusal(error.code or 500, name, error.description or "")
    return _response(refusal.status, refusal.content, {})


def _response(status: int, content: dict[str, object], headers: dict[str, str]) -> Response:
    response: Response = jsonify(content)
    response.status_code = status
    response.headers.extend(headers)
    return response
