"""Liveness touches nothing; readiness is the broker's word, and the stores are only reported."""

import time

import pytest
from flask.testing import FlaskClient

from core.errors import Outage
from webhook import health
from webhook.app import create_app


def ok() -> str:
    return "ok"


def broken() -> str:
    return "ConnectionError"


def hanging() -> str:
    time.sleep(10)
    return "ok"


def never() -> str:
    raise AssertionError("liveness asked somebody")


def client(broker: health.Check, **stores: health.Check) -> FlaskClient:
    return create_app([health.blueprint(broker, stores)]).test_client()


def test_livez_asks_nobody() -> None:
    answer = client(never, redis=never).get("/livez")

    assert (answer.status_code, answer.json) == (200, {"status": "ok"})


def test_readyz_is_200_while_the_broker_takes_messages_whatever_the_stores_do() -> None:
    answer = client(ok, redis=broken, database=broken).get("/readyz")

    assert answer.status_code == 200
    assert answer.json == {
        "status": "ok",
        "broker": "ok",
        "redis": "ConnectionError",
        "database": "ConnectionError",
    }


def test_readyz_is_503_while_the_broker_does_not() -> None:
    answer = client(broken, redis=ok).get("/readyz")

    assert answer.status_code == 503
    assert answer.json == {"status": "not ready", "broker": "ConnectionError", "redis": "ok"}


@pytest.mark.parametrize(("broker", "status"), [(ok, 200), (hanging, 503)])
def test_a_service_that_does_not_answer_is_cut_short(broker: health.Check, status: int) -> None:
    started = time.monotonic()

    answer = client(broker, redis=hanging).get("/readyz")

    assert answer.status_code == status
    assert answer.json is not None
    assert answer.json["redis"] == "no answer"
    assert time.monotonic() - started < health.BOUND_S + 1.5


def test_the_broker_check_names_the_kind_of_outage_and_nothing_secret() -> None:
    def require_queue(queue: str, timeout_s: float) -> None:
        raise Outage("no_queue", f"{queue} at amqp://user:***@broker.example.com is missing")

    assert health.broker_check(require_queue, "email-events")() == "no_queue"
