"""The OpenAPI document: valid, and of exactly the routes that there are."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from flask import Blueprint, Flask

from config.settings import load
from core.telemetry import Counters
from webhook import openapi, wsgi
from webhook.api.auth import is_guarded
from webhook.app import create_app

ROOT = Path(__file__).parent.parent.parent.parent
SETTINGS = {"API_TOKENS": "a-made-up-token-of-tests", "DATABASE_URL": "sqlite://"}


@pytest.fixture(scope="module")
def app() -> Flask:
    return wsgi.application(load(SETTINGS), Counters())


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    return openapi.document(app)


def operations(document: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for path, item in document["paths"].items():
        yield from (((path, method.upper()), said) for method, said in item.items() if method != "parameters")


def routes(app: Flask) -> Iterator[tuple[tuple[str, str], str]]:
    """((path, method), endpoint); HEAD only where a view answers it in its own way."""
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule)
        methods = (rule.methods or set()) - {"OPTIONS"}
        yield from (
            ((path, method), rule.endpoint)
            for method in sorted(methods)
            if method != "HEAD" or path == "/webhooks/{provider}"
        )


def references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (value for name, value in part.items() if name == "$ref")
        for value in part.values():
            yield from references(value)
    elif isinstance(part, list):
        for value in part:
            yield from references(value)


def test_every_method_of_every_route_is_in_the_document_and_nothing_else(app: Flask, document: dict[str, Any]) -> None:
    assert sorted(where for where, _ in operations(document)) == sorted(where for where, _ in routes(app))


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    schemathesis.openapi.from_dict(document, config=schemathesis.Config()).validate()
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) == known


def test_every_operation_has_an_id_of_its_own(document: dict[str, Any]) -> None:
    assert set(Counter(said["operationId"] for _, said in operations(document)).values()) == {1}


def test_guarded_routes_ask_for_the_token_and_only_they(app: Flask, document: dict[str, Any]) -> None:
    guarded = {where: is_guarded(app, endpoint) for where, endpoint in routes(app)}

    for where, said in operations(document):
        assert said["security"] == ([{"bearer": []}] if guarded[where] else []), where
        assert "WWW-Authenticate" in said["responses"].get("401", {}).get("headers", {}) or not guarded[where], where


def test_the_document_is_served_to_everybody(app: Flask, document: dict[str, Any]) -> None:
    answer = app.test_client().get("/openapi.json")

    assert (answer.status_code, answer.mimetype, answer.json) == (200, "application/json", document)


def test_a_deployment_without_an_api_has_none_in_its_document() -> None:
    app = wsgi.application(load({"DATABASE_URL": "sqlite://"}), Counters())

    paths = (app.test_client().get("/openapi.json").json or {})["paths"]

    assert sorted(paths) == ["/livez", "/openapi.json", "/readyz", "/webhooks/{provider}"]


def test_a_route_that_nobody_has_described_is_an_error() -> None:
    routes = Blueprint("made_up", __name__)
    routes.get("/made-up")(lambda: "")

    with pytest.raises(LookupError, match="nobody has described"):
        openapi.document(create_app([routes]))


def test_the_command_prints_every_route_and_needs_no_settings(document: dict[str, Any]) -> None:
    done = subprocess.run([sys.executable, "-m", "webhook.openapi"], cwd=ROOT, env={}, capture_output=True, check=True)

    assert json.loads(done.stdout) == document
