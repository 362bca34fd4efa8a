"""The Flask application: which blueprints it has, which routes are public, and how it says no to everything else."""

from collections.abc import Iterable
from http import HTTPStatus

from flask import Blueprint, Flask, Response, jsonify
from werkzeug.exceptions import HTTPException

# Every route is in here or demands a token; a test compares this with the URL map.
PUBLIC = frozenset(
    {
        "webhooks.receive",  # proves itself: each provider's signature or credentials
        "health.livez",
        "health.readyz",
    }
)


def create_app(blueprints: Iterable[Blueprint]) -> Flask:
    """An application of `blueprints`; nothing connects here."""
    app = Flask("webhook", static_folder=None)
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
