"""The client of Cloudflare Queues: what it asks, and what every kind of answer means."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
import responses

from config.settings import load
from providers.cloudflare_queue import (
    MOST_BYTES,
    CloudflareQueue,
    QueueAway,
    QueueRefused,
    Settlement,
    configured,
)

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
API = "https://api.example.com/client/v4"
PULL = f"{API}/accounts/account-1/queues/queue-1/messages/pull"
ACK = f"{API}/accounts/account-1/queues/queue-1/messages/ack"
LEASED = {"lease_id": "lease-1", "body": "e30=", "attempts": 1, "metadata": {"CF-Content-Type": "json"}}


@pytest.fixture
def api() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def queue() -> Iterator[CloudflareQueue]:
    one = CloudflareQueue(API, "account-1", "queue-1", "made-up-token")
    yield one
    one.close()


def envelope(result: Any, **changes: Any) -> dict[str, Any]:
    return {"success": True, "errors": [], "messages": [], "result": result} | changes


def asked(api: responses.RequestsMock) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(api.calls[0].request.body or b"")
    return body


def test_a_pull_asks_for_a_hundred_messages_for_a_minute_with_the_token(
    api: responses.RequestsMock, queue: CloudflareQueue
) -> None:
    api.post(PULL, json=envelope({"message_backlog_count": 1, "messages": [LEASED]}))

    assert [one.lease_id for one in queue.pull(NOW)] == ["lease-1"]
    assert asked(api) == {"batch_size": 100, "visibility_timeout_ms": 60_000}
    assert api.calls[0].request.headers["Authorization"] == "Bearer made-up-token"


def test_an_empty_queue_answers_with_nothing(api: responses.RequestsMock, queue: CloudflareQueue) -> None:
    api.post(PULL, json=envelope({"message_backlog_count": 0, "messages": []}))

    assert queue.pull(NOW) == []


def test_a_message_without_a_lease_does_not_hold_up_its_neighbours(
    api: responses.RequestsMock, queue: CloudflareQueue
) -> None:
    api.post(PULL, json=envelope({"messages": [None, {"body": "e30="}, LEASED]}))

    assert [one.lease_id for one in queue.pull(NOW)] == ["lease-1"]


def test_leases_are_acked_and_given_back_in_one_call(api: responses.RequestsMock, queue: CloudflareQueue) -> None:
    api.post(ACK, json=envelope({"ackCount": 2, "retryCount": 1, "warnings": {}}))

    queue.settle(Settlement(("a", "b"), ("c",), 30))

    assert asked(api) == {
        "acks": [{"lease_id": "a"}, {"lease_id": "b"}],
        "retries": [{"lease_id": "c", "delay_seconds": 30}],
    }


def test_every_call_is_bounded_and_follows_no_redirect(api: responses.RequestsMock, queue: CloudflareQueue) -> None:
    api.post(PULL, status=307, headers={"location": "https://elsewhere.example.net/"})

    with pytest.raises(QueueRefused, match="CLOUDFLARE_API_URL"):
        queue.pull(NOW)

    assert len(api.calls) == 1
    assert api.calls[0].request.req_kwargs["timeout"] == (3.0, 8.0)


@pytest.mark.parametrize(
    "error", [requests.ConnectionError(), requests.ConnectTimeout(), requests.ReadTimeout(), ConnectionResetError()]
)
def test_a_network_that_fails_is_an_outage(
    api: responses.RequestsMock, queue: CloudflareQueue, error: Exception
) -> None:
    api.post(PULL, body=error)

    with pytest.raises(QueueAway) as caught:
        queue.pull(NOW)

    assert (caught.value.code, caught.value.retry_after_s) == ("unreachable", 0)


@pytest.mark.parametrize(
    ("status", "header", "wait_s"),
    [
        (429, "120", 120),
        (429, " 7 ", 7),
        (503, "3", 3),
        (500, None, 0),
        (502, "", 0),
        (408, "soon", 0),
        (429, "-5", 0),
        (429, "\u0665", 0),
        (429, "86400", 0),
        (429, "9" * 400, 0),
    ],
)
def test_a_busy_api_is_an_outage_that_says_how_long_to_wait_if_it_does(
    api: responses.RequestsMock, queue: CloudflareQueue, status: int, header: str | None, wait_s: float
) -> None:
    api.post(PULL, status=status, body="<html>", headers={} if header is None else {"retry-after": header})

    with pytest.raises(QueueAway) as caught:
        queue.pull(NOW)

    assert caught.value.retry_after_s == wait_s


@pytest.mark.parametrize(
    ("status", "advice", "for_all"),
    [
        (401, "make an API token", True),
        (403, "needs the account permission Queues: Edit", True),
        (404, "CLOUDFLARE_QUEUE_ID is its id, not its name", True),
        (400, "wrangler queues consumer http add", False),
        (405, "wrangler queues consumer http add", False),
    ],
)
def test_a_refusal_says_what_to_do_and_what_cloudflare_said(
    api: responses.RequestsMock, queue: CloudflareQueue, status: int, advice: str, for_all: bool
) -> None:
    errors = [{"code": 10000, "message": "Authentication\nerror"}, "odd", {"code": 9109, "message": None}]
    api.post(PULL, status=status, json=envelope(None, success=False, errors=errors))

    with pytest.raises(QueueRefused, match=advice) as caught:
        queue.pull(NOW)

    assert caught.value.text.endswith(f"Cloudflare said to pull: {status} 10000; Authentication error; 9109")
    assert (caught.value.code, caught.value.for_all) == (f"http_{status}", for_all)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"null",
        b"{}",
        b'{"success": false, "errors": "odd"}',
        b'{"success": "true", "result": {"messages": []}}',
        b'{"success": true}',
        b'{"success": true, "result": []}',
        b'{"success": true, "result": {"messages": {}}}',
        b"[" * 100_000,
    ],
)
def test_an_answer_that_makes_no_sense_is_an_outage(
    api: responses.RequestsMock, queue: CloudflareQueue, body: bytes
) -> None:
    api.post(PULL, body=body)

    with pytest.raises(QueueAway, match="unreadable_answer"):
        queue.pull(NOW)


def test_an_answer_without_end_is_given_up(api: responses.RequestsMock, queue: CloudflareQueue) -> None:
    api.post(PULL, body=b" " * (MOST_BYTES + 1))

    with pytest.raises(QueueAway, match="unreadable_answer"):
        queue.pull(NOW)


def test_ids_cannot_lead_out_of_their_place_in_the_url(api: responses.RequestsMock) -> None:
    api.post(f"{API}/accounts/a%2Fb/queues/q%3Fx/messages/pull", json=envelope({"messages": []}))
    queue = CloudflareQueue(API, "a/b", "q?x", "made-up-token")

    assert queue.pull(NOW) == []


def test_a_queue_that_the_settings_name_is_made_and_no_other(api: responses.RequestsMock) -> None:
    api.post(PULL, json=envelope({"messages": []}))
    named = {"CLOUDFLARE_API_TOKEN": "t", "CLOUDFLARE_QUEUE_ID": "queue-1", "CLOUDFLARE_ACCOUNT_ID": "account-1"}

    assert configured(load({"CLOUDFLARE_ACCOUNT_ID": "account-1"})) is None
    queue = configured(load(named | {"CLOUDFLARE_API_URL": f"{API}/"}))
    assert queue is not None
    assert queue.pull(NOW) == []
