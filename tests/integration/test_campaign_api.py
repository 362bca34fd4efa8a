"""The JSON API for campaigns, on real Redis and both SQL engines."""

import io
import json
import logging
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.test import TestResponse

from consumer.apply_events import EventWork
from core.clock import utc_now
from core.ledger import lifecycle, skipping
from sender.campaign import Campaigns
from sender.clients.base import Client
from tests.sending import Provider, World
from tests.system import event
from webhook.api import campaigns as api
from webhook.api.auth import is_guarded

TOKENS = ("first-token-of-the-api", "second-token-of-the-api")
MAIL = {
    "name": "October",
    "from": "News <news@example.org>",
    "subject": "Hello {{ name }}",
    "html": "<p>Hello {{ name }}</p>",
}
SECRET = "a made-up secret of tests"


def serving(world: World, engine: Engine | None = None, secret: str = SECRET, client: Client | None = None) -> Flask:
    app = Flask("api")
    made = Campaigns(engine or world.engine, world.store, world.env, secret, keep_local_case=False, patient=False)
    app.register_blueprint(api.blueprint(made, client or world.provider, TOKENS))
    return app


def authorised(app: Flask) -> FlaskClient:
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {TOKENS[0]}"
    client.environ_base["HTTP_X_ACTOR"] = "ann"
    return client


@pytest.fixture
def client(world: World) -> FlaskClient:
    return authorised(serving(world))


def created(client: FlaskClient, **changes: Any) -> str:
    answer = client.post("/api/campaigns", json=MAIL | changes)
    assert answer.status_code == 201, answer.json
    campaign: str = answer.get_json()["id"]
    return campaign


def lines(count: int, **fields: Any) -> bytes:
    people = ({"address": f"reader{number:03}@example.com", "name": "Ann", **fields} for number in range(count))
    return b"".join(json.dumps(one).encode() + b"\n" for one in people)


def upload(client: FlaskClient, campaign: str, body: bytes, mimetype: str = "application/x-ndjson") -> TestResponse:
    return client.post(f"/api/campaigns/{campaign}/recipients", data=body, content_type=mimetype)


def running(client: FlaskClient, count: int = 3, **changes: Any) -> str:
    campaign = created(client, **changes)
    upload(client, campaign, lines(count))
    assert client.post(f"/api/campaigns/{campaign}/start").status_code == 200
    return campaign


def stats(client: FlaskClient, campaign: str) -> dict[str, int]:
    found: dict[str, int] = client.get(f"/api/campaigns/{campaign}/delivery-status").get_json()["stats"]
    return found


def audit(world: World) -> list[tuple[str, str, str]]:
    return [tuple(row) for row in world.rows("SELECT actor, action, subject FROM operator_action ORDER BY id")]


# --- who may ---


def test_every_route_is_guarded(world: World) -> None:
    app = serving(world)

    endpoints = {rule.endpoint for rule in app.url_map.iter_rules() if rule.endpoint != "static"}

    assert len(endpoints) == 14
    assert {one for one in endpoints if not is_guarded(app, one)} == set()


def test_without_a_right_token_nothing_is_created(world: World) -> None:
    answer = serving(world).test_client().post("/api/campaigns", json=MAIL)

    assert (answer.status_code, world.rows("SELECT id FROM campaign")) == (401, [])


def test_the_audit_names_the_token_and_whoever_holds_it(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    client.post(f"/api/campaigns/{campaign}/pause")
    client.post(f"/api/campaigns/{campaign}/cancel", headers={"X-Actor": "bob\tb"})

    actions = audit(world)

    assert [action for _, action, _ in actions] == ["create", "start", "pause", "cancel"]
    assert {actor for actor, _, _ in actions[:3]} == {f"api:{actions[0][0].split(':')[1]}:ann"}
    assert actions[3][0].endswith(":bob_b")
    assert {subject for _, _, subject in actions} == {campaign}
    assert TOKENS[0] not in str(actions)


# --- create ---


def test_a_campaign_begins_as_a_draft_without_recipients(client: FlaskClient) -> None:
    campaign = created(client)

    found = client.get(f"/api/campaigns/{campaign}").get_json()

    assert (found["name"], found["state"], found["audience"], found["total"]) == ("October", "draft", "upload", 0)
    assert (found["in_flight"], found["undecided"]) == ([], [])
    assert [one["id"] for one in client.get("/api/campaigns").get_json()["campaigns"]] == [campaign]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"from": "nobody"}, "from"),
        ({"subject": None}, "subject"),
        ({"subject": "{{ name"}, "subject"),
        ({"html": "", "text": ""}, "html"),
        ({"audience": "everybody"}, "audience"),
        ({"audience": "store", "filter": "city"}, "filter"),
        ({"cc": "ann@example.com"}, "cc"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_field(
    world: World, client: FlaskClient, changes: dict[str, Any], field: str
) -> None:
    answer = client.post("/api/campaigns", json=MAIL | changes)

    assert (answer.status_code, list(answer.get_json()["fields"])) == (422, [field])
    assert world.rows("SELECT id FROM campaign") == []


def test_an_unsubscribe_url_needs_a_secret(world: World) -> None:
    client = authorised(serving(world, secret=""))

    answer = client.post("/api/campaigns", json=MAIL | {"unsubscribe_url": "https://example.org/u/{token}"})

    assert (answer.status_code, "UNSUBSCRIBE_SECRETS" in answer.get_json()["error"]) == (409, True)
    assert world.rows("SELECT id FROM campaign") == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
def test_what_is_no_json_object_is_a_bad_request(client: FlaskClient, body: bytes) -> None:
    assert client.post("/api/campaigns", data=body).status_code == 400


@pytest.mark.parametrize("odd", ["\0", "\ud800"], ids=["a zero byte", "half of a character"])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", MAIL | {"name": "October {}"}),
        ("", MAIL | {"audience": "store", "filter": "city={}"}),
        ("/{campaign}/pause", {"reason": "because {}"}),
        ("/{campaign}/clone", {"name": "again {}"}),
    ],
)
def test_a_text_that_sql_cannot_keep_is_refused(
    world: World, client: FlaskClient, path: str, body: dict[str, str], odd: str
) -> None:
    campaign = running(client)
    body = {name: text.replace("{}", odd) for name, text in body.items()}

    answer = client.post(f"/api/campaigns{path.format(campaign=campaign)}", json=body)

    assert answer.status_code == 422
    assert [tuple(row) for row in world.rows("SELECT id, state FROM campaign")] == [(campaign, "running")]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/campaigns/%00"), ("POST", "/campaigns/%00/pause"), ("POST", "/calls/%00/resolve")],
)
def test_no_id_holds_a_zero_byte(client: FlaskClient, method: str, path: str) -> None:
    assert client.open(f"/api{path}", method=method, json={}).status_code == 404


# --- upload ---


@pytest.mark.parametrize(
    ("mimetype", "body"),
    [
        ("application/x-ndjson", b'{"address":"Ann@example.com","id":"a"}\n{"email":"bob@example.com"}\n'),
        ("text/csv", b"address,name\nAnn@example.com,Ann\nbob@example.com,Bob\n"),
        ("text/csv; charset=utf-8", b"email,name\nann@example.com,Ann\nbob@example.com,Bob\n"),
    ],
)
def test_recipients_are_uploaded_as_ndjson_or_csv(client: FlaskClient, mimetype: str, body: bytes) -> None:
    campaign = created(client)

    answer = upload(client, campaign, body, mimetype).get_json()

    assert (answer["added"], answer["repeated"], answer["bad"], answer["stats"]["total"]) == (2, 0, 0, 2)


def test_an_upload_is_idempotent_and_takes_one_of_two_spellings(client: FlaskClient) -> None:
    campaign = created(client)
    upload(client, campaign, lines(3))

    answer = upload(client, campaign, lines(4) + b'{"address":"READER000@EXAMPLE.com"}\n').get_json()

    assert (answer["added"], answer["repeated"], answer["stats"]["total"]) == (1, 4, 4)


def test_bad_lines_are_told_by_number_and_hold_up_nobody(client: FlaskClient) -> None:
    campaign = created(client)

    answer = upload(client, campaign, b'{"address":"ann@example.com"}\nnonsense\n{"address":"nobody"}\n').get_json()

    assert (answer["added"], answer["bad"]) == (1, 2)
    assert [one["line"] for one in answer["bad_lines"]] == [2, 3]
    assert "nobody" not in str(answer["bad_lines"])


def test_the_bad_lines_shown_are_bounded_and_all_are_counted(client: FlaskClient) -> None:
    answer = upload(client, created(client), b"nonsense\n" * 12_000).get_json()

    assert (answer["bad"], len(answer["bad_lines"])) == (12_000, 100)


def test_a_file_without_addresses_is_refused(client: FlaskClient) -> None:
    campaign = created(client)

    assert upload(client, campaign, b"name\nAnn\n", "text/csv").status_code == 422
    assert stats(client, campaign)["total"] == 0


@pytest.mark.parametrize("terminated", [True, False], ids=["as gunicorn says it", "as others do"])
def test_half_of_an_upload_leaves_no_half_address_and_is_completed_by_the_next(
    world: World, client: FlaskClient, terminated: bool
) -> None:
    campaign = created(client)
    body = b"address,name\nann@example.com,Ann\nbob@example.com.mx,Bob\n"
    half = body[: body.index(b".mx")]

    broken = client.post(
        f"/api/campaigns/{campaign}/recipients",
        input_stream=io.BytesIO(half + b",Bob"),
        content_type="text/csv",
        environ_overrides={"CONTENT_LENGTH": str(len(body)), "wsgi.input_terminated": terminated},
    )
    between = world.rows("SELECT address FROM delivery_ledger")
    answer = upload(client, campaign, body, "text/csv").get_json()

    assert broken.status_code == 400
    assert "bob@example.com" not in [row.address for row in between]
    assert answer["stats"]["total"] == 2


@pytest.mark.parametrize("audience", ["store", "started"])
def test_only_a_draft_for_uploads_takes_recipients(client: FlaskClient, audience: str) -> None:
    campaign = created(client, audience="store") if audience == "store" else running(client)
    before = stats(client, campaign)

    answer = upload(client, campaign, lines(9))

    assert (answer.status_code, stats(client, campaign)) == (409, before)


def test_a_draft_can_be_emptied(client: FlaskClient) -> None:
    campaign = created(client)
    upload(client, campaign, lines(3))

    assert client.delete(f"/api/campaigns/{campaign}/recipients").get_json() == {"removed": 3}
    assert stats(client, campaign)["total"] == 0


# --- start ---


def test_a_start_with_the_expected_total_runs_and_a_second_changes_nothing(world: World, client: FlaskClient) -> None:
    campaign = created(client)
    upload(client, campaign, lines(250))
    url = f"/api/campaigns/{campaign}/start"

    answers = [client.post(url, json={"expected_total": 250}) for _ in range(2)]

    assert [(one.status_code, one.get_json()["state"]) for one in answers] == [(200, "running")] * 2
    assert len(world.call_ids(campaign)) == 3
    world.move(campaign)
    assert stats(client, campaign) == {
        "total": 250, "sent": 250, "reserved": 0, "failed": 0, "skipped": 0, "remaining": 0, "unknown": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("count", "body"), [(3, {"expected_total": 4}), (0, {})])
def test_a_start_without_its_recipients_is_refused(
    world: World, client: FlaskClient, count: int, body: dict[str, int]
) -> None:
    campaign = created(client)
    upload(client, campaign, lines(count))

    answer = client.post(f"/api/campaigns/{campaign}/start", json=body)

    assert (answer.status_code, world.state(campaign)[0], world.call_ids(campaign)) == (409, "draft", [])


def test_mails_that_cannot_be_made_are_found_at_start_with_recipient_and_field(
    world: World, client: FlaskClient
) -> None:
    campaign = created(client)
    upload(client, campaign, lines(3) + b'{"address":"bob@example.com","id":"bob"}\n')

    answer = client.post(f"/api/campaigns/{campaign}/start")

    assert (answer.status_code, answer.get_json()["count"]) == (422, 2)
    assert [(one["recipient_id"], one["part"], one["field"]) for one in answer.get_json()["errors"]] == [
        ("bob", "subject", "name"),
        ("bob", "html", "name"),
    ]
    assert (world.state(campaign)[0], world.call_ids(campaign)) == ("draft", [])


def test_the_store_gives_its_eligible_records_and_their_fields(world: World, client: FlaskClient) -> None:
    records = {
        "ann@example.com": b'{"name":"Ann","city":"Lyon","eligible_since":"2026-01-01T00:00:00Z"}',
        "bob@example.com": b'{"name":"Bob","city":"Rome"}',
        "Eve@example.com": b'{"name":"Eve","city":"Lyon"}',
        "not an address": b'{"name":"Nobody","city":"Lyon"}',
        "text@example.com": b"no JSON",
    }
    world.store.put_many(records.items())
    campaign = created(client, audience="store", filter="city=Lyon")

    assert client.post(f"/api/campaigns/{campaign}/start").status_code == 200

    world.move(campaign)
    assert dict(world.provider.mails) == {"ann@example.com": 1}
    (mail,) = json.loads(world.provider.calls[0][1])
    assert mail["subject"] == "Hello Ann"


def test_an_audience_from_the_store_is_taken_afresh_after_a_failed_start(world: World, client: FlaskClient) -> None:
    world.store.put_many([("ann@example.com", b'{"name":"Ann"}'), ("bob@example.com", b"{}")])
    campaign = created(client, audience="store")
    failed = client.post(f"/api/campaigns/{campaign}/start")
    world.store.put("bob@example.com", b'{"name":"Bob"}')

    started = client.post(f"/api/campaigns/{campaign}/start", json={"expected_total": 2})

    assert (failed.status_code, started.status_code) == (422, 200)
    world.move(campaign)
    assert dict(world.provider.mails) == {"ann@example.com": 1, "bob@example.com": 1}


def test_who_complained_is_skipped_whatever_the_audience_says(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    complain(world, "reader001@example.com")

    world.move(campaign)

    (page,) = [client.get(f"/api/campaigns/{campaign}/deliveries?status=skipped").get_json()]
    assert [(one["address"], one["reason"]) for one in page["deliveries"]] == [("reader001@example.com", "removed")]
    assert stats(client, campaign)["sent"] == 2


def complain(world: World, address: str) -> None:
    EventWork(world.store, world.engine, utc_now).apply([event(recipient=address)])


# --- pause, resume, cancel ---


def test_a_pause_answers_with_the_calls_in_flight(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    answers: list[Any] = []
    world.provider.before = lambda: answers.append(
        client.post(f"/api/campaigns/{campaign}/pause", json={"reason": "typing error"}).get_json()
    )

    world.move(campaign)

    assert [one["idempotency_key"] for one in answers[0]["in_flight"]] == [key for key, _ in world.provider.calls]
    assert answers[0]["in_flight"][0]["size"] == answers[0]["stats"]["reserved"] == 3
    assert client.get(f"/api/campaigns/{campaign}").get_json()["pause_reason"] == "typing error"


def test_a_resume_goes_on_and_can_accept_missing_records(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    client.post(f"/api/campaigns/{campaign}/pause")

    answer = client.post(f"/api/campaigns/{campaign}/resume", json={"accept_missing": True})

    assert answer.get_json()["state"] == "running"
    assert world.rows("SELECT accept_missing FROM campaign")[0].accept_missing
    world.move(campaign)
    assert stats(client, campaign)["sent"] == 3


def test_a_cancel_skips_the_rest(client: FlaskClient) -> None:
    campaign = running(client)

    answer = client.post(f"/api/campaigns/{campaign}/cancel").get_json()

    assert (answer["in_flight"], answer["stats"]["skipped"]) == ([], 3)


@pytest.mark.parametrize("flag", ["accept_missing", "replan_absent"])
def test_a_number_is_not_a_truth_value(client: FlaskClient, flag: str) -> None:
    campaign = running(client)
    client.post(f"/api/campaigns/{campaign}/pause")

    answer = client.post(f"/api/campaigns/{campaign}/resume", json={flag: 1})

    assert (answer.status_code, client.get(f"/api/campaigns/{campaign}").get_json()["state"]) == (422, "paused")


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_what_the_state_does_not_allow_is_a_conflict(client: FlaskClient, action: str) -> None:
    campaign = created(client)

    answer = client.post(f"/api/campaigns/{campaign}/{action}")

    assert (answer.status_code, client.get(f"/api/campaigns/{campaign}").get_json()["state"]) == (409, "draft")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/delivery-status"),
        ("GET", "/deliveries"),
        ("POST", "/recipients"),
        ("DELETE", "/recipients"),
        ("POST", "/start"),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/cancel"),
        ("POST", "/clone"),
        ("POST", "/test-mail"),
    ],
)
def test_an_unknown_campaign_is_not_found(client: FlaskClient, method: str, path: str) -> None:
    body = {"to": "ann@example.com"} if path == "/test-mail" else {}

    assert client.open(f"/api/campaigns/none{path}", method=method, json=body).status_code == 404


# --- deliveries ---


def test_deliveries_come_page_by_page(client: FlaskClient) -> None:
    campaign = running(client, 25)
    seen: list[str] = []
    after, pages = "", 0
    while after is not None:
        page = client.get(
            f"/api/campaigns/{campaign}/deliveries", query_string={"after": after, "limit": 10}
        ).get_json()
        seen += [one["address"] for one in page["deliveries"]]
        after, pages = page["next"], pages + 1

    assert (sorted(seen), pages) == ([f"reader{number:03}@example.com" for number in range(25)], 3)


@pytest.mark.parametrize("query", ["status=gone", "limit=0", "limit=1001", "limit=many", "colour=red", "after=%00"])
def test_a_wrong_query_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/api/campaigns/{created(client)}/deliveries?{query}").status_code == 422


# --- clone ---


def test_the_remaining_of_a_cancelled_campaign_get_one_of_their_own(world: World, client: FlaskClient) -> None:
    campaign = created(client)
    upload(client, campaign, lines(250))
    client.post(f"/api/campaigns/{campaign}/start")
    world.work.apply([world.message(campaign, world.call_ids(campaign)[0])])
    client.post(f"/api/campaigns/{campaign}/cancel")

    clone = client.post(f"/api/campaigns/{campaign}/clone", json={"name": "again"}).get_json()

    assert (clone["name"], clone["state"], clone["total"], clone["cloned_from"]) == ("again", "draft", 150, campaign)
    client.post(f"/api/campaigns/{clone['id']}/start", json={"expected_total": 150})
    world.move(clone["id"])
    assert (len(world.provider.mails), set(world.provider.mails.values())) == (250, {1})


def test_the_remaining_of_a_store_campaign_are_not_everybody(world: World, client: FlaskClient) -> None:
    world.store.put_many((f"reader{number}@example.com", b'{"name":"Ann"}') for number in range(3))
    campaign = created(client, audience="store")
    client.post(f"/api/campaigns/{campaign}/start")
    client.post(f"/api/campaigns/{campaign}/cancel")
    world.store.put("new@example.com", b'{"name":"New"}')

    clone = client.post(f"/api/campaigns/{campaign}/clone").get_json()["id"]
    client.post(f"/api/campaigns/{clone}/start")
    world.move(clone)

    assert dict(world.provider.mails) == {f"reader{number}@example.com": 1 for number in range(3)}


def test_a_clone_has_also_those_to_whom_a_cancel_of_many_has_not_come_yet(
    world: World, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skipping, "SLICE", 2)
    campaign = world.campaign(7)
    client.post(f"/api/campaigns/{campaign}/cancel")
    assert world.status(campaign)["remaining"] == 5

    clone = client.post(f"/api/campaigns/{campaign}/clone").get_json()

    assert clone["total"] == 7
    assert world.status(campaign)["skipped"] == 7


@pytest.mark.parametrize("state", ["draft", "running", "paused"])
def test_what_may_still_mail_them_itself_is_not_cloned(world: World, client: FlaskClient, state: str) -> None:
    campaign = created(client) if state == "draft" else running(client)
    if state == "paused":
        client.post(f"/api/campaigns/{campaign}/pause")

    answer = client.post(f"/api/campaigns/{campaign}/clone")

    assert (answer.status_code, len(world.rows("SELECT id FROM campaign"))) == (409, 1)


# --- test mail ---


def test_a_test_mail_goes_to_one_address_with_the_fields_of_the_first_recipient(
    world: World, client: FlaskClient
) -> None:
    campaign = created(client)
    upload(client, campaign, lines(3))

    answer = client.post(f"/api/campaigns/{campaign}/test-mail", json={"to": "me@example.com"}).get_json()

    ((key, body),) = world.provider.calls
    (mail,) = json.loads(body)
    assert (mail["to"], mail["subject"]) == ("me@example.com", "Hello Ann")
    assert (answer["result"], answer["idempotency_key"]) == ("accepted", key)
    assert stats(client, campaign) == stats(client, campaign) | {"total": 3, "sent": 0}


def test_the_same_test_mail_is_not_sent_twice(world: World, client: FlaskClient) -> None:
    campaign = created(client)
    body = {"to": "me@example.com", "variables": {"name": "Me"}}

    for _ in range(2):
        client.post(f"/api/campaigns/{campaign}/test-mail", json=body, headers={"Idempotency-Key": "once"})

    assert dict(world.provider.mails) == {"me@example.com": 1}


def test_a_test_mail_that_cannot_be_made_names_its_field(world: World, client: FlaskClient) -> None:
    answer = client.post(f"/api/campaigns/{created(client)}/test-mail", json={"to": "me@example.com"})

    assert (answer.status_code, answer.get_json()["errors"][0]["field"], world.provider.calls) == (422, "name", [])


def test_a_test_mail_spares_whoever_complained(world: World, client: FlaskClient) -> None:
    complain(world, "me@example.com")
    body = {"to": "me@example.com", "variables": {"name": "Me"}}

    answer = client.post(f"/api/campaigns/{created(client)}/test-mail", json=body)

    assert (answer.status_code, world.provider.calls) == (409, [])


def test_without_a_provider_there_is_no_test_mail(world: World) -> None:
    app = Flask("api")
    made = Campaigns(world.engine, world.store, world.env, SECRET, keep_local_case=False, patient=False)
    app.register_blueprint(api.blueprint(made, None, TOKENS))
    client = authorised(app)

    answer = client.post(f"/api/campaigns/{created(client)}/test-mail", json={"to": "me@example.com"})

    assert (answer.status_code, "RESEND_API_KEY" in answer.get_json()["error"]) == (409, True)


# --- resolve ---


def test_a_call_that_needs_a_decision_is_shown_with_its_choices_and_resolved(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    world.provider.script.append(Provider.accept_and_drop)
    world.move(campaign)
    client.post(f"/api/campaigns/{campaign}/pause")

    (call,) = client.get(f"/api/campaigns/{campaign}").get_json()["undecided"]
    answer = client.post(f"/api/calls/{call['call']}/resolve", json={"choice": call["choices"][0]})

    assert (call["size"], call["choices"]) == (3, ["assume-sent", "resend"])
    assert answer.get_json() == {"call": call["call"], "deliveries": 3}
    assert stats(client, campaign)["sent"] == 3


@pytest.mark.parametrize(
    ("call", "body", "status"),
    [("99999", {"choice": "resend"}, 404), ("x", {"choice": "resend"}, 404), ("1", {"choice": "maybe"}, 422)],
)
def test_what_cannot_be_resolved_is_refused(client: FlaskClient, call: str, body: dict[str, str], status: int) -> None:
    assert client.post(f"/api/calls/{call}/resolve", json=body).status_code == status


def test_a_running_campaign_still_decides_itself(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    world.provider.script.append(Provider.accept_and_drop)
    world.move(campaign)
    (call,) = world.call_ids(campaign)

    answer = client.post(f"/api/calls/{call}/resolve", json={"choice": "resend"})

    assert (answer.status_code, stats(client, campaign)["reserved"]) == (409, 3)


# --- when something is away ---


def test_a_store_that_is_away_is_a_503_with_a_time_to_wait(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE campaign RENAME TO hidden"))
    try:
        with caplog.at_level(logging.WARNING):
            answer = authorised(serving(world)).get("/api/campaigns")
    finally:
        with world.engine.begin() as connection:
            connection.execute(text("ALTER TABLE hidden RENAME TO campaign"))

    assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)


def test_a_campaign_that_is_paused_elsewhere_shows_why(world: World, client: FlaskClient) -> None:
    campaign = running(client)
    with world.engine.begin() as connection:
        lifecycle.pause_all(connection, "worker", "ledger_foreign")

    assert client.get(f"/api/campaigns/{campaign}").get_json()["pause_reason"] == "ledger_foreign"
