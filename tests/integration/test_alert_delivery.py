"""Alerts on their way to people: words, formats, a dead channel, and a memory that survives restarts."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
import responses
from sqlalchemy import Engine

from core import alert_states, database
from core.alert_delivery import Alert, Channel
from core.alerting import PER_PASS, Alerting
from core.alerts import DEAD_LETTERS, DUPLICATES, NO_PROGRESS, Reading, Status, Tell

NOW = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
URL = "https://hooks.example.com/services/T0/B0/a-secret-path"
QUEUE = "email-events-dlq"
ALERT = Alert(DEAD_LETTERS, Tell(Status.FIRING, NOW), QUEUE, 101, "production")
SOON = timedelta(seconds=15)


@pytest.fixture
def webhook() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


def sent(webhook: responses.RequestsMock) -> list[dict[str, Any]]:
    return [json.loads(call.request.body or b"") for call in webhook.calls]


def depth(value: float | None) -> list[Reading]:
    return [Reading(DEAD_LETTERS, QUEUE, value)]


def test_slack_gets_a_text_with_what_since_when_impact_urgency_and_command(webhook: responses.RequestsMock) -> None:
    webhook.post(URL)

    assert Channel(URL, "slack").deliver(ALERT)

    (body,) = sent(webhook)
    assert list(body) == ["text"]
    assert body["text"].splitlines() == [
        "[production] FIRING: 101 dead letters in email-events-dlq, more than 100",
        "Since 2026-11-29 12:30 UTC; can wait until morning.",
        "Impact: each is an event or a batch that has had no effect; removals among them have not happened.",
        "Run: mailward dlq list",
    ]


def test_generic_json_has_a_key_that_stays_the_same_from_firing_to_clearing(webhook: responses.RequestsMock) -> None:
    webhook.post(URL)
    channel = Channel(URL, "json")

    for status in Status:
        assert channel.deliver(replace(ALERT, tell=Tell(status, NOW)))

    bodies = sent(webhook)
    assert {body["dedup_key"] for body in bodies} == {"mailward.production.dead_letters.email-events-dlq"}
    assert [body["status"] for body in bodies] == ["firing", "still_firing", "cleared"]
    assert bodies[0] | {"impact": "…"} == {
        "dedup_key": "mailward.production.dead_letters.email-events-dlq", "status": "firing", "name": "dead_letters",
        "subject": QUEUE, "environment": "production",
        "summary": "101 dead letters in email-events-dlq, more than 100", "value": 101, "threshold": 100,
        "since": "2026-11-29T12:30:00+00:00", "impact": "…", "can_wait_until_morning": True,
        "command": "mailward dlq list",
    }  # fmt: skip


def test_another_environment_or_subject_has_another_key() -> None:
    keys = {one.key for one in (ALERT, replace(ALERT, env="staging"), replace(ALERT, subject="campaign-batches-dlq"))}

    assert len(keys) == 3


def test_what_cannot_wait_says_so(webhook: responses.RequestsMock) -> None:
    webhook.post(URL)

    Channel(URL, "slack").deliver(Alert(DUPLICATES, Tell(Status.FIRING, NOW), "", 11, "production"))

    assert "cannot wait until morning" in sent(webhook)[0]["text"]


@pytest.mark.parametrize("status", [301, 400, 404, 429, 500])
def test_an_answer_that_is_no_success_is_a_failure(webhook: responses.RequestsMock, status: int) -> None:
    webhook.post(URL, status=status, headers={"Location": "https://elsewhere.example.com/"})

    assert not Channel(URL, "slack").deliver(ALERT)
    assert len(webhook.calls) == 1


@pytest.mark.parametrize("error", [requests.ConnectionError(URL), requests.Timeout(URL), requests.TooManyRedirects()])
def test_a_dead_channel_raises_nothing_and_its_url_stays_out_of_the_log(
    webhook: responses.RequestsMock, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    webhook.post(URL, body=error)

    assert not Channel(URL, "slack").deliver(ALERT)
    assert "a-secret-path" not in "".join(str(vars(record)) for record in caplog.records)


def test_without_a_webhook_the_log_is_the_channel(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert Channel("", "slack").deliver(ALERT)

    (record,) = [one for one in caplog.records if one.getMessage() == "alert"]
    assert (record.levelno, vars(record)["alert"], vars(record)["value"]) == (logging.ERROR, "dead_letters", 101)


def test_one_crossing_is_told_once_across_restarts_and_its_end_once(
    engine: Engine, webhook: responses.RequestsMock
) -> None:
    webhook.post(URL)
    told = []
    for number, value in enumerate((99, 100, 101, 100, 150, 80, 0)):
        alerting = Alerting(engine, Channel(URL, "json").deliver, "test")  # a new process each time
        alerting.take(depth(value), NOW + number * SOON)
        told.append(len(webhook.calls))

    assert told == [0, 0, 1, 1, 1, 2, 2]
    assert [body["status"] for body in sent(webhook)] == ["firing", "cleared"]
    with database.reading(engine) as connection:
        assert alert_states.read(connection) == {}


def test_an_alert_that_could_not_be_delivered_is_delivered_when_the_channel_is_back(
    engine: Engine, webhook: responses.RequestsMock
) -> None:
    webhook.post(URL, status=500)
    webhook.post(URL, status=200)
    alerting = Alerting(engine, Channel(URL, "json").deliver, "test")

    assert alerting.take(depth(101), NOW) == 0
    assert alerting.take(depth(120), NOW + SOON) == 1
    assert alerting.take(depth(130), NOW + 2 * SOON) == 0

    assert [body["status"] for body in sent(webhook)] == ["firing", "firing"]
    assert sent(webhook)[1]["since"] == NOW.isoformat()


def test_a_dead_channel_is_tried_once_a_pass_and_the_rest_waits(
    engine: Engine, webhook: responses.RequestsMock
) -> None:
    webhook.post(URL, body=requests.ConnectionError())
    found = [Reading(NO_PROGRESS, f"campaign{number}", 11) for number in range(5)]

    Alerting(engine, Channel(URL, "json").deliver, "test").take(found, NOW)

    assert len(webhook.calls) == 1
    with database.reading(engine) as connection:
        assert len(alert_states.read(connection)) == 5


def test_a_flood_is_delivered_over_several_passes(engine: Engine, webhook: responses.RequestsMock) -> None:
    webhook.post(URL)
    found = [Reading(NO_PROGRESS, f"campaign{number:02}", 11) for number in range(PER_PASS + 5)]
    alerting = Alerting(engine, Channel(URL, "json").deliver, "test")

    assert [alerting.take(found, NOW + number * SOON) for number in range(3)] == [PER_PASS, 5, 0]
    assert len({body["dedup_key"] for body in sent(webhook)}) == PER_PASS + 5


def test_what_is_no_longer_there_clears(engine: Engine, webhook: responses.RequestsMock) -> None:
    webhook.post(URL)
    alerting = Alerting(engine, Channel(URL, "json").deliver, "test")
    alerting.take([Reading(NO_PROGRESS, "ab2cd3ef", 11)], NOW)

    alerting.take([], NOW + SOON)

    assert [body["status"] for body in sent(webhook)] == ["firing", "cleared"]


def test_a_value_that_nobody_could_find_out_clears_nothing(engine: Engine, webhook: responses.RequestsMock) -> None:
    webhook.post(URL)
    alerting = Alerting(engine, Channel(URL, "json").deliver, "test")
    alerting.take(depth(101), NOW)

    alerting.take(depth(None), NOW + SOON)

    assert len(webhook.calls) == 1


def test_a_quiet_system_writes_nothing(engine: Engine) -> None:
    Alerting(engine, Channel("", "json").deliver, "test").take(depth(0), NOW)

    with database.reading(engine) as connection:
        assert alert_states.read(connection) == {}
