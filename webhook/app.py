"""The Flask application: which blueprints it has, which routes are public, and how it says no to everything else."""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Flask, Response, jsonify
from werkzeug.exceptions import HTTPException

from webhook.doors import Door

# Every route is in here or demands a token; a test compares this with the URL map.
PUBLIC = frozenset(
    {
        "webhooks.probe",  # says only that a configured provider's door exists
        "webhooks.receive",  # proves itself: each provider's signature or credentials
        "health.livez",
        "health.readyz",
        "openapi.serve",  # what is in it, the source says too
    }
)


class _Application(Flask):
    """A Flask application with shortcuts: POSTs to these paths are answered before Flask makes anything of them."""

    def __init__(self, shortcuts: Mapping[str, Door]) -> None:
        super().__init__("webhook", static_folder=None)
        self._shortcuts = shortcuts

    def wsgi_app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """See Flask.wsgi_app."""
        door = self._shortcuts.get(environ["PATH_INFO"]) if environ["REQUEST_METHOD"] == "POST" else None
        answered: Iterable[bytes] = (door or super().wsgi_app)(environ, start_response)
        return answered


def create_app(blueprints: Iterable[Blueprint], shortcuts: Mapping[str, Door] | None = None) -> Flask:
    """An application of `blueprints`, and of `shortcuts` from path to WSGI application; nothing connects here."""
    app = _Application(shortcuts or {})
    app.url_map.merge_slashes = False  # an address with two slashes is another than the one with one
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    app.register_error_handler(HTTPException, _say_no)
    return app


def _say_no(error: HTTPException) -> Response:
    status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    answer: Response = jsonify(error=status.phrase.lower())
    answer.status_code = status
    answer.headers.extend((name, value) for name, value in error.get_headers() if name != "Content-Type")
    return answer
