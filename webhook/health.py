"""GET /livez: this process runs. GET /readyz: it can take webhooks, which needs the broker and nothing else."""

import threading
import time
from collections.abc import Callable, Mapping

import redis
import sqlalchemy
from flask import Blueprint, Response, jsonify
from marshmallow import Schema, fields

from core.errors import Outage
from webhook.operation import Meaning, describe

BOUND_S = 2.0  # for the broker, and for all stores together; whoever asks gives up a little later

Check = Callable[[], str]


class LiveSchema(Schema):
    """GET /livez."""

    status = fields.String(required=True)


class ReadySchema(LiveSchema):
    """GET /readyz: "ok" or a few words, of each service."""

    broker = fields.String(required=True)
    redis = fields.String()
    database = fields.String()


_READY = {
    200: Meaning("The broker answers; the stores may not.", ReadySchema),
    503: Meaning("The broker does not answer.", ReadySchema),
}


def blueprint(broker: Check, stores: Mapping[str, Check]) -> Blueprint:
    """Routes /livez and /readyz; every check answers "ok" or in a few words what is wrong."""
    routes = Blueprint("health", __name__)

    @routes.get("/livez")
    @describe("Whether this process runs", {200: Meaning("It does.", LiveSchema)})
    def livez() -> Response:
        return jsonify(status="ok")

    @routes.get("/readyz")
    @describe("Whether it can take webhooks, which needs the broker and nothing else", _READY)
    def readyz() -> tuple[Response, int]:
        said = _within({"broker": broker, **stores}, BOUND_S + 0.5)
        ready = said["broker"] == "ok"
        return jsonify(status="ok" if ready else "not ready", **said), 200 if ready else 503

    return routes


def broker_check(require_queue: Callable[[str, float], None], queue: str) -> Check:
    """Whether a message could be published now: a passive declare of `queue` over the publisher's own connection."""

    def check() -> str:
        try:
            require_queue(queue, BOUND_S)
        except Outage as outage:
            return outage.code
        return "ok"

    return check


def redis_check(client: redis.Redis) -> Check:
    """Whether Redis answers."""

    def check() -> str:
        try:
            client.ping()
        except redis.RedisError as error:
            return type(error).__name__
        return "ok"

    return check


def database_check(engine: sqlalchemy.Engine) -> Check:
    """Whether the ledger's database answers."""

    def check() -> str:
        try:
            with engine.connect() as connection:
                connection.execute(sqlalchemy.text("SELECT 1"))
        except sqlalchemy.exc.SQLAlchemyError as error:
            return type(error).__name__
        return "ok"

    return check


def _within(checks: Mapping[str, Check], bound_s: float) -> dict[str, str]:
    """The answers of all `checks`, asked at the same time; a check that takes longer than `bound_s` is cut short."""
    said = dict.fromkeys(checks, "no answer")
    threads = [threading.Thread(target=_note, args=(said, *one), daemon=True) for one in checks.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + bound_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return dict(said)


def _note(said: dict[str, str], name: str, check: Check) -> None:
    said[name] = check()
