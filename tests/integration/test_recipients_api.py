"""The JSON API for recipients, on real Redis and SQL."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

from config.settings import load
from consumer.apply_events import EventWork
from core import database, recipients
from core.clock import utc_now
from core.events import Event, Kind
from core.recipients import RecipientStore
from core.telemetry import JsonFormatter
from webhook.api import recipients as api
from webhook.api.auth import is_guarded

ADDRESS = "ann@example.com"
TOKENS = ("first-token-of-the-api", "second-token-of-the-api")


@pytest.fixture
def engine(sqlite_url: str) -> Iterator[Engine]:
    engine = database.create(sqlite_url)
    database.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(redis_client: redis.Redis, redis_prefix: str) -> RecipientStore:
    return RecipientStore(redis_client, f"{redis_prefix}{{address}}")


def serving(store: RecipientStore, engine: Engine) -> Flask:
    app = Flask("api")
    app.register_blueprint(api.blueprint(store, engine, TOKENS, utc_now, keep_local_case=False))
    return app


def authorised(app: Flask, token: str = TOKENS[0]) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


@pytest.fixture
def client(store: RecipientStore, engine: Engine) -> FlaskClient:
    return authorised(serving(store, engine))


def complain(store: RecipientStore, engine: Engine, number: int = 1) -> None:
    now = datetime.now(UTC)
    event = Event(f"resend:msg_{number}", "resend", Kind.COMPLAINT, ADDRESS, ADDRESS, now, now, "resend.complained")
    EventWork(store, engine, utc_now).apply([event])


def stored(store: RecipientStore, address: str = ADDRESS) -> bytes | None:
    return store.read([store.key(address)])[0]


def url(address: str = ADDRESS, action: str = "") -> str:
    return f"/api/recipients/{address}{action}"


# --- who may ---


def test_every_route_is_guarded(store: RecipientStore, engine: Engine) -> None:
    app = serving(store, engine)

    endpoints = {rule.endpoint for rule in app.url_map.iter_rules() if rule.endpoint != "static"}

    assert len(endpoints) == 7
    assert {one for one in endpoints if not is_guarded(app, one)} == set()


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKENS[0]}", TOKENS[0], f"Bearer {TOKENS[0]}x", "Bearer \udcff"],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/recipients"),
        ("POST", "/api/recipients/import"),
        ("GET", url()),
        ("PUT", url()),
        ("DELETE", url()),
        ("GET", url(action="/why")),
        ("POST", url(action="/restore")),
    ],
)
def test_without_a_right_token_nothing_is_answered_or_changed(
    store: RecipientStore, engine: Engine, header: str, method: str, path: str
) -> None:
    store.put(ADDRESS, b"kept")
    client = serving(store, engine).test_client()
    encoded = header.encode("utf-8", "surrogateescape").decode("latin-1")

    answer = client.open(path, method=method, environ_overrides={"HTTP_AUTHORIZATION": encoded}, data=b"{}")

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert "kept" not in answer.text
    assert dict(store.scan()) == {ADDRESS: b"kept"}


@pytest.mark.parametrize("token", TOKENS)
def test_each_of_several_tokens_opens(store: RecipientStore, engine: Engine, token: str) -> None:
    assert authorised(serving(store, engine), token).get(url()).status_code == 200


def test_there_is_no_api_without_tokens(store: RecipientStore, engine: Engine) -> None:
    with pytest.raises(ValueError, match="without tokens"):
        api.blueprint(store, engine, (), utc_now, keep_local_case=False)


# --- one recipient ---


def test_put_stores_the_body_with_consent_as_of_now_and_get_shows_it(
    client: FlaskClient, store: RecipientStore
) -> None:
    put = client.put(url("ANN@example.com"), data=b'{"n": 1.10}')

    assert put.status_code == 200
    assert (stored(store) or b"").startswith(b'{"n": 1.10,"eligible_since":"')
    got = client.get(url()).json
    assert got == put.json
    assert got is not None
    assert (got["address"], got["blocked"], got["records"][0]["record"]["n"]) == (ADDRESS, False, 1.1)


def test_put_without_a_body_lets_a_record_in_again(client: FlaskClient, store: RecipientStore, engine: Engine) -> None:
    store.put(ADDRESS, b"active")
    complain(store, engine)
    store.put(ADDRESS, b"active")
    assert (client.get(url()).json or {})["blocked"] is True

    answer = client.put(url())

    assert (answer.json or {})["blocked"] is False
    assert stored(store) == b"active"


def test_get_of_an_unknown_address_shows_no_record(client: FlaskClient) -> None:
    assert client.get(url()).json == {"address": ADDRESS, "records": [], "blocked": False, "blocks": []}


def test_a_local_part_may_hold_a_slash(client: FlaskClient, store: RecipientStore) -> None:
    client.put(url("a/why@example.com"), data=b"x")

    assert stored(store, "a/why@example.com") == b"x"
    assert (client.get(url("a%2Fwhy@example.com", "/why")).json or {})["address"] == "a/why@example.com"


@pytest.mark.parametrize("other", ["/ann@example.com", "//ann@example.com", "a//nn@example.com"])
def test_an_address_with_more_slashes_is_another_address(
    client: FlaskClient, store: RecipientStore, other: str
) -> None:
    for address in (ADDRESS, "a/nn@example.com", other):
        store.put(address, address.encode())

    answer = client.delete(url(other.replace("/", "%2F")), follow_redirects=True)

    assert (answer.status_code, answer.json) == (200, {"deleted": [store.key(other)]})
    assert dict(store.scan()) == {one: one.encode() for one in (ADDRESS, "a/nn@example.com")}


def test_delete_deletes_once(client: FlaskClient, store: RecipientStore) -> None:
    store.put(ADDRESS, b"x")

    first, second = client.delete(url()), client.delete(url())

    assert (first.status_code, second.status_code) == (200, 404)
    assert first.json == {"deleted": [store.key(ADDRESS)]}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("wrong", ["nobody", "a@example.com,b@example.com", "import", "a@example.com/what"])
def test_what_is_not_one_address_is_422(client: FlaskClient, store: RecipientStore, method: str, wrong: str) -> None:
    answer = client.open(url(wrong), method=method, data=b"{}")

    assert answer.status_code == 422
    assert "error" in (answer.json or {})
    assert dict(store.scan()) == {}


def test_a_consent_that_would_not_count_is_422(client: FlaskClient, store: RecipientStore) -> None:
    assert client.put(url(), data=b'{"eligible_since":"soon"}').status_code == 422
    assert stored(store) is None


def test_a_record_over_the_limit_is_413(client: FlaskClient, store: RecipientStore) -> None:
    answer = client.put(url(), data=b"x" * (api.RECORD_LIMIT + 1))

    assert (answer.status_code, stored(store)) == (413, None)


# --- why and restore ---


def test_why_lists_the_journal(client: FlaskClient, store: RecipientStore, engine: Engine) -> None:
    store.put(ADDRESS, b"x")
    complain(store, engine)

    said = client.get(url(action="/why")).json or {}

    assert (said["blocked"], said["has_record"]) == (True, False)
    (row,) = said["journal"]
    assert (row["event_id"], row["rule"], row["outcome"]) == ("resend:msg_1", "resend.complained", "removed")
    assert datetime.fromisoformat(row["applied_at"]).tzinfo is not None
    assert row["restored_at"] is None


def test_restore_puts_the_record_back_and_never_over_a_newer_one_without_force(
    client: FlaskClient, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"\xff\x00")
    complain(store, engine)
    assert client.post(url(action="/restore")).status_code == 200
    assert stored(store) == b"\xff\x00"
    store.put(ADDRESS, b"newer")

    assert client.post(url(action="/restore"), json={"force": False}).status_code == 409
    assert stored(store) == b"newer"
    assert client.post(url(action="/restore"), json={"force": True}).status_code == 200
    assert stored(store) == b"\xff\x00"


def test_restore_of_an_address_never_removed_is_404(client: FlaskClient) -> None:
    assert client.post(url(action="/restore")).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"nonsense", 400),
        (b"[" * 100_000, 400),
        (b"[]", 422),
        (b'{"force":"yes"}', 422),
        (b'{"force":1}', 422),
        (b'{"fource":true}', 422),
    ],
)
def test_a_wrong_restore_request_changes_nothing(
    client: FlaskClient, store: RecipientStore, engine: Engine, body: bytes, status: int
) -> None:
    store.put(ADDRESS, b"x")
    complain(store, engine)

    answer = client.post(url(action="/restore"), data=body)

    assert (answer.status_code, stored(store)) == (status, None)
    assert "error" in (answer.json or {})


# --- many ---


def test_an_import_answers_counts_and_the_first_bad_lines(client: FlaskClient, store: RecipientStore) -> None:
    lines = [json.dumps({"address": f"reader{n}@example.com"}) for n in range(2500)] + ["nonsense"] * 150

    answer = client.post("/api/recipients/import", data="\n".join(lines), content_type="application/x-ndjson")

    said = answer.json or {}
    assert (answer.status_code, said["stored"], said["bad"], len(said["bad_lines"])) == (200, 2500, 150, 100)
    assert said["bad_lines"][0] == {"line": 2501, "reason": "not JSON"}
    assert len(dict(store.scan())) == 2500


def test_an_import_of_csv_is_told_by_its_content_type(client: FlaskClient, store: RecipientStore) -> None:
    answer = client.post(
        "/api/recipients/import", data="address,name\na@example.com,A\n", content_type="text/csv; charset=utf-8"
    )

    assert answer.json == {"stored": 1, "bad": 0, "bad_lines": []}
    assert stored(store, "a@example.com") == b'{"name":"A"}'


def test_a_csv_without_the_column_address_is_422(client: FlaskClient, store: RecipientStore) -> None:
    answer = client.post("/api/recipients/import", data="email\na@example.com\n", content_type="text/csv")

    assert (answer.status_code, dict(store.scan())) == (422, {})


def test_an_export_is_imported_again_byte_for_byte(
    client: FlaskClient, store: RecipientStore, redis_client: redis.Redis
) -> None:
    records = {"a@example.com": b'{"n": 1.10}', "b@example.com": bytes(range(256)), "C@Example.com": b"x\n"}
    store.put_many(records.items())
    exported = client.get("/api/recipients")
    assert exported.mimetype == "application/x-ndjson"
    redis_client.delete(*map(store.key, records))

    client.post("/api/recipients/import", input_stream=io.BytesIO(exported.data), content_length=len(exported.data))

    assert dict(store.scan()) == records


# --- stores that are away ---


def call_all(client: FlaskClient) -> Iterator[TestResponse]:
    yield client.get("/api/recipients")
    yield client.post("/api/recipients/import", data=b'{"address":"a@example.com"}')
    yield client.get(url())
    yield client.put(url(), data=b"{}")
    yield client.delete(url())
    yield client.get(url(action="/why"))


def test_an_outage_of_redis_is_503_with_retry_after(engine: Engine) -> None:
    settings = load({"REDIS_URL": "redis://127.0.0.1:1"})
    client = authorised(serving(RecipientStore(recipients.connect(settings), settings.recipient_key), engine))

    answers = list(call_all(client))

    assert {one.status_code for one in answers} == {503}
    assert all(one.headers["Retry-After"] and one.json for one in answers)


def test_an_outage_of_sql_is_503_and_leaves_the_record(store: RecipientStore) -> None:
    engine = database.create("postgresql+psycopg://nobody@127.0.0.1:1/none")
    store.put(ADDRESS, b"x")
    client = authorised(serving(store, engine))

    answers = [client.get(url()), client.get(url(action="/why")), client.post(url(action="/restore"))]

    assert {one.status_code for one in answers} == {503}
    assert stored(store) == b"x"
    engine.dispose()


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_key_that_holds_no_string_is_409_and_stays(
    client: FlaskClient, store: RecipientStore, redis_client: redis.Redis, method: str
) -> None:
    redis_client.lpush(store.key(ADDRESS), "a list")

    answer = client.open(url(), method=method)

    assert answer.status_code == 409
    assert "not a string" in (answer.json or {})["error"]
    assert redis_client.type(store.key(ADDRESS)) == b"list"


def test_a_failure_of_ours_is_500_and_no_address_is_logged(
    store: RecipientStore, sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = database.create(sqlite_url)
    database.upgrade(broken)
    with broken.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE journal RENAME TO whole")
        connection.exec_driver_sql("CREATE VIEW journal AS SELECT * FROM whole WHERE abs(-9223372036854775808) > 0")

    answer = authorised(serving(store, broken)).get(url())

    broken.dispose()
    assert (answer.status_code, answer.json) == (500, {"error": "internal server error"})
    logged = [JsonFormatter("web").format(record) for record in caplog.records]
    assert "integer overflow" in "".join(logged)
    assert ADDRESS not in "".join(logged)
