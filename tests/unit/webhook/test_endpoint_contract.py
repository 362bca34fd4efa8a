"""The status contract, line by line, against a provider and a publisher that do as they are told."""

import logging

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from core import parked, wire
from core.errors import Outage
from core.events import Kind
from core.telemetry import Counters
from providers.base import Answers, Normalised, ParkedItem, ProofRefused, ProofUnavailable
from tests.unit.webhook.fakes import NOW, TOPOLOGY, FakeProvider, RecordingPublisher, application, event

BODY = b'{"made": "up"}'


@pytest.fixture
def provider() -> FakeProvider:
    return FakeProvider()


@pytest.fixture
def publisher() -> RecordingPublisher:
    return RecordingPublisher()


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture(params=["past Flask", "through Flask"])
def client(
    request: pytest.FixtureRequest, provider: FakeProvider, publisher: RecordingPublisher, counters: Counters
) -> FlaskClient:
    """Both ways to the endpoint: each line of the contract holds on each."""
    return application(provider, publisher, counters, request.param == "through Flask").test_client()


def post(client: FlaskClient, body: bytes = BODY, path: str = "/webhooks/fake") -> TestResponse:
    return client.post(path, data=body, headers={"Fake-Id": "m1", "Content-Type": "application/json"})


def test_200_when_every_event_is_confirmed(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.says = Normalised(events=(event(1), event(2, Kind.DELIVERED)))

    answer = post(client)

    assert (answer.status_code, answer.json) == (200, {"queued": 2, "parked": 0, "counted": 0})
    assert [(one.exchange, one.routing_key, one.message_id) for one in publisher.published] == [
        (TOPOLOGY.work_exchange, TOPOLOGY.events.name, "fake:1"),
        (TOPOLOGY.work_exchange, TOPOLOGY.events.name, "fake:2"),
    ]
    assert [wire.decode(one.body) for one in publisher.published] == list(provider.says.events)


def test_all_messages_of_a_request_go_out_in_one_call_within_the_deadline(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.answers = Answers(deadline_s=2.0)
    provider.says = Normalised(events=tuple(event(n) for n in range(50)), parked=(ParkedItem(50, "no recipient"),))

    assert post(client).status_code == 200

    assert [len(call) for call in publisher.calls] == [51]
    assert 1.0 < publisher.timeouts_s[0] <= 2.0


def test_200_when_nothing_needs_work(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.says = Normalised(counted={Kind.OTHER: 3})

    answer = post(client)

    assert (answer.status_code, answer.json) == (200, {"queued": 0, "parked": 0, "counted": 3})
    assert publisher.published == []


def test_what_cannot_be_understood_is_parked_whole_while_the_rest_goes_on(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    items = (ParkedItem(0, "no recipient"), ParkedItem(2, "two recipients"))
    provider.says = Normalised(events=(event(1),), parked=items)

    answer = post(client)

    assert (answer.status_code, answer.json) == (200, {"queued": 1, "parked": 2, "counted": 0})
    letter = publisher.published[1]
    assert (letter.exchange, letter.routing_key) == (TOPOLOGY.work_exchange, TOPOLOGY.events.parked)
    assert letter.message_id.startswith("parked:")
    read = parked.decode(letter.body)
    assert (read.provider, read.body, read.headers, read.received_at) == ("fake", BODY, {"fake-id": "m1"}, NOW)
    assert [(item.index, item.reason) for item in read.items] == [(0, "no recipient"), (2, "two recipients")]


def test_every_parked_request_has_an_id_of_its_own(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.says = Normalised(parked=(ParkedItem(-1, "not JSON"),))

    post(client)
    post(client)

    assert len({one.message_id for one in publisher.published}) == 2


def test_401_when_the_proof_is_refused(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.says = Normalised(events=(event(1),))
    provider.verify_raises = ProofRefused("bad_signature")

    answer = post(client)

    assert (answer.status_code, answer.json) == (401, {"error": "bad_signature"})
    assert publisher.published == []


@pytest.mark.parametrize("path", ["/webhooks/nobody", "/webhooks/Fake", "/webhooks/fake%20"])
def test_404_for_a_provider_that_is_unknown_or_not_configured(
    client: FlaskClient, publisher: RecordingPublisher, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    answer = post(client, path=path)

    assert (answer.status_code, answer.json) == (404, {"error": "no such provider"})
    assert publisher.published == []
    assert [vars(record)["missing"].endswith("has no secret") for record in caplog.records] == [True]


def test_413_when_the_declared_length_is_over_the_limit(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    answer = post(client, b"x" * 1001)

    assert (answer.status_code, answer.json) == (413, {"error": "too_large"})
    assert (provider.requests, publisher.published) == ([], [])


def test_a_body_of_exactly_the_limit_is_read_whole(client: FlaskClient, provider: FakeProvider) -> None:
    assert post(client, b"x" * 1000).status_code == 200

    assert provider.requests[0].body == b"x" * 1000


@pytest.mark.parametrize("busy_status", [503, 429])
@pytest.mark.parametrize(
    "code", ["broker_unreachable", "confirm_timeout", "unroutable", "refused", "overloaded", "blocked"]
)
def test_busy_when_the_events_are_not_handed_over(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher, busy_status: int, code: str
) -> None:
    provider.answers = Answers(busy_status=busy_status)
    provider.says = Normalised(events=(event(1),))
    publisher.outage = Outage(code, "made up")

    answer = post(client)

    assert (answer.status_code, answer.json, answer.headers["Retry-After"]) == (busy_status, {"error": "busy"}, "5")
    assert publisher.published == []


def test_busy_when_the_proof_cannot_be_checked(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.says = Normalised(events=(event(1),))
    provider.verify_raises = ProofUnavailable("no certificate")

    answer = post(client)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert publisher.published == []


@pytest.mark.parametrize("where", ["verify_raises", "normalise_raises"])
def test_a_bug_in_a_provider_module_is_busy_and_logged_never_500(
    client: FlaskClient,
    provider: FakeProvider,
    publisher: RecordingPublisher,
    caplog: pytest.LogCaptureFixture,
    where: str,
) -> None:
    provider.answers = Answers(busy_status=429)
    setattr(provider, where, KeyError("a bug"))

    answer = post(client)

    assert answer.status_code == 429
    assert publisher.published == []
    assert any(record.exc_info and record.levelno == logging.ERROR for record in caplog.records)


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_405_for_every_other_method(client: FlaskClient, publisher: RecordingPublisher, method: str) -> None:
    answer = client.open("/webhooks/fake", method=method)

    assert (answer.status_code, "POST" in answer.allow) == (405, True)
    assert publisher.published == []


@pytest.mark.parametrize("path", ["/", "/webhooks", "/webhooks/", "/webhooks/fake/more", "/favicon.ico"])
def test_404_as_json_for_every_other_path(client: FlaskClient, publisher: RecordingPublisher, path: str) -> None:
    answer = post(client, path=path)

    assert (answer.status_code, answer.json) == (404, {"error": "not found"})
    assert publisher.published == []


def test_busy_when_the_body_ends_early(
    client: FlaskClient, provider: FakeProvider, publisher: RecordingPublisher
) -> None:
    provider.says = Normalised(events=(event(1),))

    answer = client.post("/webhooks/fake", data=b"half", environ_overrides={"CONTENT_LENGTH": "8"})

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert (provider.requests, publisher.published) == ([], [])


def test_the_provider_sees_raw_bytes_and_lower_case_header_names(client: FlaskClient, provider: FakeProvider) -> None:
    body = b'{ "b":1,\r\n "a": "\\u00e9" }\r\n'

    client.post("/webhooks/fake", data=body, headers={"SVIX-Id": "m1", "Content-Type": "application/json"})

    request = provider.requests[0]
    assert (request.body, request.received_at) == (body, NOW)
    assert (request.headers["svix-id"], request.headers["content-type"]) == ("m1", "application/json")


def test_a_form_is_not_parsed_before_the_proof(client: FlaskClient, provider: FakeProvider) -> None:
    client.post("/webhooks/fake", data=b"a=1&b=2", headers={"Content-Type": "application/x-www-form-urlencoded"})

    assert provider.requests[0].body == b"a=1&b=2"


def test_one_line_is_logged_for_each_request_without_addresses(
    client: FlaskClient, provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    provider.says = Normalised((event(1),), (ParkedItem(1, "jane@example.com is odd"),), {Kind.OTHER: 2})

    post(client)

    assert len(caplog.records) == 1
    fields = vars(caplog.records[0])
    assert {name: fields[name] for name in ("provider", "outcome", "secret", "queued", "parked", "counted")} == {
        "provider": "fake",
        "outcome": "accepted",
        "secret": "1 of 2",
        "queued": 1,
        "parked": 1,
        "counted": 2,
    }
    assert "example.com" not in str(fields)


def test_what_was_accepted_is_counted_by_kind(client: FlaskClient, provider: FakeProvider, counters: Counters) -> None:
    provider.says = Normalised((event(1), event(2)), (ParkedItem(2, "odd"), ParkedItem(3, "odd")), {Kind.OTHER: 4})

    post(client)

    assert counters.drain() == {
        ("accepted", "fake", "complaint"): 2,
        ("accepted", "fake", "parked"): 2,
        ("parked", "fake", ""): 2,
        ("counted", "fake", "other"): 4,
        ("secret", "fake", "1 of 2"): 1,
    }


@pytest.mark.parametrize(
    ("path", "refused", "outage", "counted"),
    [
        ("/webhooks/fake", ProofRefused("stale"), None, ("refused", "fake", "stale")),
        ("/webhooks/made-up", None, None, ("refused", "unknown", "unknown_provider")),
        ("/webhooks/fake", None, Outage("unroutable"), ("busy", "fake", "unroutable")),
    ],
)
def test_refusals_and_busy_answers_are_counted_by_reason(
    client: FlaskClient,
    provider: FakeProvider,
    publisher: RecordingPublisher,
    counters: Counters,
    path: str,
    refused: Exception | None,
    outage: Outage | None,
    counted: tuple[str, str, str],
) -> None:
    provider.verify_raises, publisher.outage = refused, outage

    post(client, path=path)

    assert counters.drain() == {counted: 1}
    assert publisher.published == []
