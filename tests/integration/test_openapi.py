"""The OpenAPI document against the application that it describes, on real services: schemathesis plays the clients."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from pika.adapters.blocking_connection import BlockingChannel
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks
from schemathesis.specs.openapi.schemas import OpenApiSchema

from config.settings import load
from core.clock import utc_now
from core.events import Kind
from core.publisher import Publisher
from core.telemetry import Counters
from core.topology import Topology
from dev.services import RabbitMQ
from providers import registry
from tests.api_stage import TOKEN, WEBHOOK_SECRET, Stage, application
from tests.sending import World
from webhook import openapi, wsgi
from webhook.api import media

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
DOCUMENT = openapi.document(wsgi.application(load({"API_TOKENS": TOKEN, "DATABASE_URL": "sqlite://"}), Counters()))


def clients(cases: int, *, every_limit: bool) -> OpenApiSchema:
    """Clients that make `cases` derandomized requests to each route, and before that, with `every_limit`, one for each
    limit that the document names."""
    generation = {
        "max-examples": cases,
        "deterministic": True,
        "database": "none",
        "with-security-parameters": False,  # the tests bring the token, or leave it out
    }
    # No 405s: what is no route under one address may be another address.
    coverage = {"enabled": every_limit, "unexpected-methods": []}
    config = schemathesis.Config.from_dict({"seed": 1, "generation": generation, "phases": {"coverage": coverage}})
    return schemathesis.openapi.from_dict(DOCUMENT, config=config)


schema = clients(15, every_limit=True)
with_token = schema.include(path_regex="^/api/")
without_token = clients(3, every_limit=False).include(path_regex="^/api/")
public = schema.exclude(path_regex="^/api/")

# The stage is made once for each route, and set again after each case that changed it.
one_stage = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@schemathesis.serializer(media.NDJSON, media.CSV)
def lines(_: schemathesis.SerializationContext, value: object) -> dict[str, Any]:
    return {"data": str(value).encode()}


@pytest.fixture
def stage(world: World, topology: Topology, rabbitmq: RabbitMQ) -> Iterator[Stage]:
    publisher = Publisher(rabbitmq.url, connection_name="test")
    yield Stage(world, application(world, publisher, topology))
    publisher.close()


@with_token.parametrize()
@one_stage
def test_the_api_answers_as_documented(case: schemathesis.Case, stage: Stage) -> None:
    case = stage.aimed(case)

    answer = case.call(app=stage.app, headers={"Authorization": f"Bearer {TOKEN}"})

    if case.method != "GET" and answer.status_code < 400:
        stage.reset()
    any_text_will_do = case.media_type in (media.NDJSON, media.CSV)
    case.validate_response(
        answer, CHECKS, excluded_checks=[checks.negative_data_rejection] if any_text_will_do else None
    )


@without_token.parametrize()
@one_stage
def test_without_a_token_the_api_says_only_that(case: schemathesis.Case, stage: Stage) -> None:
    case = stage.aimed(case)

    answer = case.call(app=stage.app)

    assert (answer.status_code, stage.is_untouched) == (401, True)
    case.validate_response(answer, CHECKS)


@public.parametrize()
@one_stage
def test_public_routes_answer_as_documented(case: schemathesis.Case, stage: Stage, channel: BlockingChannel) -> None:
    case = stage.aimed(case)

    answer = case.call(app=stage.app)

    case.validate_response(answer, CHECKS)
    assert stage.is_untouched


def test_a_proven_post_is_answered_as_documented(stage: Stage, channel: BlockingChannel) -> None:
    resend = registry.configured(load({"RESEND_WEBHOOK_SECRETS": WEBHOOK_SECRET}))["resend"]
    body = resend.sample(Kind.COMPLAINT, "reader@example.com", "mail-1", utc_now())
    post = resend.sign(body, "msg_1", utc_now())

    answer = stage.app.test_client().post("/webhooks/resend", data=post.body, headers=dict(post.headers))

    assert answer.status_code == 200
    schema["/webhooks/{provider}"]["POST"].validate_response(answer)


def test_an_import_may_name_an_address_that_no_journal_can_hold(stage: Stage) -> None:
    line = rb'{"address":"zero\u0000byte","verbatim":true,"record":"x","eligible_since":"2026-11-01T00:00:00Z"}'

    answer = stage.app.test_client().post(
        "/api/recipients/import", data=line, headers={"Authorization": f"Bearer {TOKEN}"}
    )

    assert answer.json == {"stored": 1, "bad": 0, "bad_lines": []}
