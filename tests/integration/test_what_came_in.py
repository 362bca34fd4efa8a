"""What an operator can see of what providers posted: kinds by name, unknown ones too, refusals, and why."""

import json
from datetime import timedelta
from typing import Any

import pytest

from consumer.monitor import Monitor
from core import alerts
from core.alert_delivery import Alert
from core.alerting import Alerting
from core.events import Kind
from providers import registry
from tests.command_line import CommandLine
from tests.unit.providers.payloads import recorded
from tests.unit.providers.security_cases import SENT_AT
from tests.unit.providers.test_every_provider import security_cases
from tests.whole_path import NOW, WholePath

A = "a@example.com"


def counters(path: WholePath) -> dict[tuple[str, str], int]:
    """(series, label) → count, of everything that the web process has counted."""
    path.count()
    return {(row.name, row.label): row.n for row in path.system.rows("SELECT name, label, n FROM counts")}


def forge(path: WholePath, name: str, times: int, secret: str = "") -> None:
    """Post with a secret of somebody else's."""
    case = security_cases()[name]()
    other = case.make(secret or case.next_secret)
    for number in range(times):
        body = other.sample(Kind.COMPLAINT, A, f"m{number}", SENT_AT)
        post = other.sign(body, f"msg_{number}", SENT_AT)
        assert path.post_as_it_is(name, post.body, post.headers).status_code == 401


# --- what is accepted and not acted upon ---


def test_every_kind_that_ses_tells_is_counted_by_its_name(path: WholePath) -> None:
    for name in ("delivery", "send", "open", "reject", "rendering_failure", "delivery_delay", "subscription_succeeded"):
        assert path.post("ses", recorded("ses", name)).status_code == 200

    found = counters(path)
    assert {key: n for key, n in found.items() if key[0] in ("accepted", "counted")} == {
        ("accepted", "delivered"): 1, ("accepted", "deferred"): 1,
        ("counted", "accepted"): 1, ("counted", "rejected"): 2, ("counted", "other"): 2,
    }  # fmt: skip
    shown = CommandLine(path.system.environ).out("providers", "--json", "--days", "3650")
    ses = next(one for one in json.loads(shown)["providers"] if one["name"] == "ses")
    assert ses["last_accepted"] == NOW.replace(second=0, microsecond=0).isoformat()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("brevo", {"event": "proxy_open", "email": A}),
        ("resend", {"type": "email.invented", "data": {"to": [A]}}),
        ("resend", {"type": "domain.updated", "data": {"name": "example.com"}}),
        ("sendgrid", [{"event": "invented", "email": A}]),
        ("postmark", {"RecordType": "Invented", "Email": A}),
        ("mailgun", {"event-data": {"event": "invented", "recipient": A}}),
        ("ses", {"eventType": "Invented", "mail": {"destination": [A]}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_type_that_nobody_knows_yet_is_accepted_counted_and_explained_on_demand(
    path: WholePath, name: str, body: Any
) -> None:
    answer = path.post(name, body)

    assert (answer.status_code, answer.json) == (200, {"queued": 0, "parked": 0, "counted": 1})
    assert counters(path)[("counted", "other")] == 1
    explained = CommandLine(path.system.environ).out("classify", name, stdin=json.dumps(body).encode())
    assert f"{name}.other" in explained


def test_a_sample_of_what_was_not_understood_is_there_to_be_looked_at(path: WholePath) -> None:
    path.post("ses", recorded("ses", "bounce_permanent_nobody"))
    mailward = CommandLine(path.system.environ)

    (group,) = json.loads(mailward.out("dlq", "list", "--json"))["groups"]
    shown = mailward.out("dlq", "show", group["ids"][0])

    assert group["lane"] == "parked"
    assert group["reason"].startswith("ses: hard_bounce without a single recipient")
    assert "bounceSubType" in shown


# --- what is refused ---


@pytest.fixture
def told() -> list[Alert]:
    return []


@pytest.fixture
def monitor(path: WholePath, told: list[Alert]) -> Monitor:
    def deliver(alert: Alert) -> bool:
        told.append(alert)
        return True

    alerting = Alerting(path.system.engine, deliver, "test")
    return Monitor(path.system.engine, path.system.environ["AMQP_URL"], path.system.topology, alerting, path.now)


@pytest.mark.parametrize("name", ["resend", "mailgun", "brevo", "sendgrid"])
def test_a_wrong_secret_is_told_of_while_the_provider_still_tries(
    path: WholePath, monitor: Monitor, told: list[Alert], name: str
) -> None:
    forge(path, name, 50)
    path.count()
    monitor.look(path.now)

    assert [(one.rule, one.subject, one.value) for one in told] == [(alerts.SIGNATURES_REFUSED, name, 50)]
    assert path.post(name, path.providers[name].sample(Kind.DELIVERED, A, "m", SENT_AT)).status_code == 200
    path.count()
    monitor.look(path.now + timedelta(minutes=1))
    assert [one.tell.status.value for one in told] == ["firing", "cleared"]


def test_an_api_key_in_place_of_the_signing_key_shows_as_bad_signatures(path: WholePath) -> None:
    forge(path, "mailgun", 3, secret="key-0123456789abcdef0123456789abcdef")

    assert counters(path) == {("refused", "bad_signature"): 3}


def test_what_is_stale_is_counted_apart_from_what_is_forged(path: WholePath) -> None:
    """A clock that is six minutes ahead makes every genuine post of Resend late."""
    body = path.providers["resend"].sample(Kind.COMPLAINT, A, "m", SENT_AT)
    path.now += timedelta(minutes=6)
    assert path.post("resend", body).status_code == 401
    assert path.post("resend", body, sent_at=path.now).status_code == 200
    path.now += timedelta(seconds=34)
    assert path.post("mailgun", path.providers["mailgun"].sample(Kind.COMPLAINT, A, "m", SENT_AT)).status_code == 200
    forge(path, "mailgun", 1)

    found = {key: n for key, n in counters(path).items() if key[0] == "refused"}
    assert found == {("refused", "stale"): 1, ("refused", "bad_signature"): 1}


@pytest.mark.parametrize("name", registry.known_names())
def test_a_refused_post_is_counted_with_its_reason_and_nothing_else_comes_of_it(path: WholePath, name: str) -> None:
    body = path.providers[name].sample(Kind.HARD_BOUNCE, A, "m", SENT_AT)

    assert path.post_as_it_is(name, body).status_code == 401

    assert counters(path) in ({("refused", reason): 1} for reason in ("missing_headers", "bad_signature"))
    assert (path.arrived(), path.parked()) == ([], [])
