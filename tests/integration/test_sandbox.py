"""The sandbox as the real client sees it: each rule that it enforces, each fault, and the webhooks it posts back."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests

from core.events import Kind
from core.ledger.states import Happening
from dev.sandbox.server import API_KEY, SandboxServer
from providers import base
from providers import resend as webhooks
from sender.clients.base import Answer
from sender.clients.resend import Resend
from sender.mail import Mail
from tests.system import wait_until

SECRET = "whsec_bWFkZSB1cCBmb3IgdGhlIHRlc3RzIG9mIG1haWx3YXJk"


@dataclass
class Target:
    """Where the sandbox posts its webhooks; `status` is what it answers."""

    url: str = ""
    status: int = 200
    posts: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def types(self) -> list[str]:
        return [json.loads(body)["type"] for _, body in self.posts]


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    one = Target()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            one.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(one.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        one.url = f"http://127.0.0.1:{server.server_address[1]}/webhooks/resend"
        yield one
        server.shutdown()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, target: Target) -> Iterator[SandboxServer]:
    with SandboxServer(tmp_path_factory.mktemp("sandbox"), webhook_url=target.url, webhook_secret=SECRET) as one:
        yield one


@pytest.fixture
def sandbox(running: SandboxServer, target: Target) -> SandboxServer:
    """Empty, with the settings of its start."""
    running.reset()
    target.status = 200
    target.posts.clear()
    return running


@pytest.fixture
def client(sandbox: SandboxServer) -> Resend:
    return Resend(API_KEY, sandbox.url, total_timeout_s=5)


def mail(number: int = 1, to: str = "", **changes: Any) -> Mail:
    fields: dict[str, Any] = {
        "sender": "News <news@example.org>",
        "to": to or f"reader{number}@example.com",
        "subject": "Made-up news",
        "html": "<p>Hi</p>",
        "text": "Hi",
        "tags": (("mailward_env", "test"), ("mailward_campaign", "spring"), ("mailward_recipient", f"r-{number}")),
    }
    return Mail(**(fields | changes))


def body(client: Resend, *mails: Mail) -> bytes:
    return client.body([client.fragment(one) for one in mails])


def send(client: Resend, key: str = "k-1", *mails: Mail) -> Answer:
    return client.call(body(client, *(mails or (mail(),))), key)


def raw(sandbox: SandboxServer, content: object, **headers: str) -> requests.Response:
    """A request that the client would never make."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    given = {"Authorization": f"Bearer {API_KEY}", **headers}
    return requests.post(f"{sandbox.url}/emails/batch", data=data, headers=given, timeout=10)


PLAIN = {"from": "news@example.org", "to": "reader@example.com", "subject": "Hi", "text": "Hi"}


# What Resend enforces


def test_a_batch_is_accepted_with_an_id_for_each_mail(sandbox: SandboxServer, client: Resend) -> None:
    answer = send(client, "k-1", *(mail(number) for number in range(100)))

    assert (answer.happening, len(answer.ids)) == (Happening.ACCEPTED, 100)
    assert sandbox.recipients() == {"recipients": 100, "mails": 100, "min": 1, "max": 1, "duplicates": 0}


@pytest.mark.parametrize(
    ("credentials", "name"),
    [({"Authorization": ""}, "missing_api_key"), ({"Authorization": "Bearer x"}, "validation_error")],
)
def test_a_call_without_a_valid_api_key_is_refused(
    sandbox: SandboxServer, credentials: dict[str, str], name: str
) -> None:
    answer = raw(sandbox, [PLAIN], **credentials)

    assert (answer.status_code, answer.json()["statusCode"], answer.json()["name"]) == (401, 401, name)
    assert sandbox.stats()["mails"] == 0


def test_the_client_takes_a_wrong_api_key_for_what_it_is(sandbox: SandboxServer) -> None:
    answer = send(Resend("re_wrong", sandbox.url))

    assert (answer.happening, answer.pause) == (Happening.NOT_SENT, "credentials")
    assert sandbox.stats()["mails"] == 0


@pytest.mark.parametrize(
    ("content", "status", "name"),
    [
        (b"{", 400, "validation_error"),
        (b"[" * 100_000, 400, "validation_error"),
        ({}, 422, "validation_error"),
        ([], 422, "validation_error"),
        ([1], 422, "validation_error"),
        ([PLAIN] * 101, 422, "validation_error"),
        ([PLAIN | {"to": []}], 422, "missing_required_field"),
        ([PLAIN | {"to": ["a@example.com"] * 51}], 422, "validation_error"),
        ([PLAIN | {"to": "no address"}], 422, "validation_error"),
        ([PLAIN | {"to": ["a@example.com, b@example.com"]}], 422, "validation_error"),
        ([PLAIN | {"from": "nobody"}], 422, "invalid_from_address"),
        ([{name: value for name, value in PLAIN.items() if name != "from"}], 422, "missing_required_field"),
        ([PLAIN | {"subject": ""}], 422, "missing_required_field"),
        ([PLAIN | {"text": ""}], 422, "missing_required_field"),
        ([PLAIN | {"html": 5}], 422, "validation_error"),
        ([PLAIN | {"attachments": []}], 422, "invalid_attachment"),
        ([PLAIN | {"scheduled_at": "2027-01-01"}], 422, "validation_error"),
        ([PLAIN | {"headers": {"X-A": 1}}], 422, "validation_error"),
        ([PLAIN | {"tags": [{"name": "who", "value": "a@example.com"}]}], 422, "validation_error"),
        ([PLAIN | {"tags": [{"name": "n", "value": "v" * 257}]}], 422, "validation_error"),
        ([PLAIN, PLAIN | {"to": "no address"}], 422, "validation_error"),
    ],
)
def test_a_body_with_one_fault_is_refused_as_a_whole(
    sandbox: SandboxServer, content: object, status: int, name: str
) -> None:
    answer = raw(sandbox, content)

    assert (answer.status_code, answer.json()["name"]) == (status, name)
    assert sandbox.stats()["mails"] == 0


def test_the_same_key_and_bytes_replay_the_ids_and_send_nothing(sandbox: SandboxServer, client: Resend) -> None:
    first, second = send(client), send(client)

    assert (second.happening, second.ids) == (Happening.ACCEPTED, first.ids)
    assert sandbox.recipients()["mails"] == 1


def test_the_same_key_with_other_bytes_is_a_conflict(sandbox: SandboxServer, client: Resend) -> None:
    send(client)
    answer = send(client, "k-1", mail(2))

    assert (answer.status, answer.happening) == (409, Happening.KEY_TAKEN)
    assert sandbox.recipients()["mails"] == 1


def test_a_key_whose_call_still_runs_is_a_conflict_until_it_has_ended(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(latency_ms=600)
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(send(client)))
    thread.start()
    wait_until(lambda: sandbox.stats()["mails"] == 1, "the first call is accepted")
    during = send(client)
    thread.join()
    after = send(client)

    assert (during.status, during.happening) == (409, Happening.RUNNING_ELSEWHERE)
    assert after.ids == answers[0].ids
    assert sandbox.recipients()["mails"] == 1


def test_a_key_is_forgotten_after_a_day_and_the_same_call_sends_again(sandbox: SandboxServer, client: Resend) -> None:
    first = send(client)
    sandbox.advance(24 * 3600 - 60)
    within = send(client)
    sandbox.advance(61)
    beyond = send(client)

    assert within.ids == first.ids != beyond.ids
    assert sandbox.recipients() == {"recipients": 1, "mails": 2, "min": 2, "max": 2, "duplicates": 1}


def test_a_refused_call_leaves_its_key_free(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(reject_addresses=["reader1@example.com"])
    refused = send(client)
    sandbox.set(reject_addresses=[])

    assert refused.happening is Happening.REJECTED
    assert send(client, "k-1", mail(2)).happening is Happening.ACCEPTED


def test_a_key_that_is_too_long_is_refused(sandbox: SandboxServer) -> None:
    answer = raw(sandbox, [PLAIN], **{"Idempotency-Key": "k" * 257})

    assert (answer.status_code, answer.json()["name"]) == (400, "invalid_idempotency_key")
    assert sandbox.stats()["mails"] == 0


def test_another_header_for_the_key_protects_from_nothing(sandbox: SandboxServer) -> None:
    for _ in range(2):
        raw(sandbox, [PLAIN], **{"X-Resend-Idempotency-Key": "k-1"})

    assert sandbox.recipients()["duplicates"] == 1


def test_calls_beyond_the_rate_are_refused_and_say_for_how_long(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(rate_per_s=2)
    answers = [send(client, f"k-{number}", mail(number)) for number in range(8)]
    limited = [one for one in answers if one.status == 429]

    assert {one.happening for one in limited} == {Happening.NOT_SENT}
    assert {(one.rate.limit, one.rate.remaining, one.rate.retry_after_s, one.pause) for one in limited} == {
        (2, 0, 1, "")
    }
    assert sandbox.recipients()["mails"] == 8 - len(limited) < 8


def test_within_the_rate_the_headers_count_down(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(rate_per_s=1000)

    assert send(client).rate.limit == 1000


@pytest.mark.parametrize("period", ["daily", "monthly"])
def test_mails_beyond_a_quota_are_refused_until_the_next_period(
    sandbox: SandboxServer, client: Resend, period: str
) -> None:
    sandbox.set(**{f"{period}_quota": 3})
    sent = send(client, "k-1", mail(1), mail(2))
    refused = send(client, "k-2", mail(3), mail(4))
    sandbox.advance(32 * 86_400)

    assert sent.happening is Happening.ACCEPTED
    assert (refused.happening, refused.pause) == (Happening.NOT_SENT, f"{period}_quota")
    assert send(client, "k-2", mail(3), mail(4)).happening is Happening.ACCEPTED


def test_latency_is_measured_from_arrival_to_answer(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(latency_ms=150)
    send(client, "warm")
    took_s = []
    for number in range(5):
        began = time.monotonic()
        send(client, f"k-{number}", *(mail(one, html="x" * 10_000) for one in range(100)))
        took_s.append(time.monotonic() - began)

    assert 0.15 <= min(took_s) < 0.25


def test_what_is_not_there_is_said_in_resends_words(sandbox: SandboxServer) -> None:
    missing = requests.post(f"{sandbox.url}/nowhere", timeout=5)
    wrong = requests.get(f"{sandbox.url}/emails/batch", timeout=5)

    assert (missing.status_code, missing.json()["name"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["name"]) == (405, "method_not_allowed")


# Faults on demand


@pytest.mark.parametrize(
    ("fault", "happening", "error"),
    [
        ("drop_accepted", Happening.AMBIGUOUS, "no_answer"),
        ("cut_accepted", Happening.AMBIGUOUS, "unreadable_success"),
        ("error_accepted", Happening.AMBIGUOUS, "application_error"),
    ],
)
def test_a_call_that_was_accepted_and_badly_answered_is_cleared_up_by_its_key(
    sandbox: SandboxServer, client: Resend, fault: str, happening: Happening, error: str
) -> None:
    sandbox.fault(fault, count=1)
    first, second = send(client), send(client)

    assert (first.happening, first.error) == (happening, error)
    assert (second.happening, len(second.ids)) == (Happening.ACCEPTED, 1)
    assert sandbox.recipients()["mails"] == 1
    assert [(one["result"], one["fault"]) for one in sandbox.arrivals()] == [("accepted", fault), ("replayed", "")]


def test_a_slow_answer_outlasts_the_client_and_its_key_runs_on(sandbox: SandboxServer) -> None:
    hasty = Resend(API_KEY, sandbox.url, total_timeout_s=0.5)
    sandbox.set(slow_s=1.5)
    sandbox.fault("slow_accepted", count=1)
    slow, meanwhile = send(hasty), send(hasty)
    wait_until(lambda: send(hasty).happening is Happening.ACCEPTED, "the slow call ends")

    assert (slow.happening, meanwhile.happening) == (Happening.AMBIGUOUS, Happening.RUNNING_ELSEWHERE)
    assert sandbox.recipients()["mails"] == 1


@pytest.mark.parametrize(
    ("fault", "status", "happening", "pause"),
    [
        ("unauthorized", 401, Happening.NOT_SENT, "credentials"),
        ("storm", 429, Happening.NOT_SENT, ""),
        ("sender", 422, Happening.REJECTED_FOR_ALL, "sender"),
        ("error", 500, Happening.AMBIGUOUS, ""),
    ],
)
def test_a_call_that_was_refused_on_demand_sent_nothing(
    sandbox: SandboxServer, client: Resend, fault: str, status: int, happening: Happening, pause: str
) -> None:
    sandbox.fault(fault, count=2)
    answers = [send(client) for _ in range(3)]

    assert [(one.status, one.happening, one.pause) for one in answers[:2]] == [(status, happening, pause)] * 2
    assert answers[2].happening is Happening.ACCEPTED
    assert sandbox.recipients()["mails"] == 1


def test_a_storm_says_how_long_to_wait(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.fault("storm", count=1)

    assert send(client).rate.retry_after_s == 1


def test_a_fault_by_probability_strikes_about_as_often(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.fault("error", probability=0.3)
    for number in range(100):
        send(client, f"k-{number}", mail(number))

    assert 10 < sandbox.stats()["faults"]["error"] < 60


@pytest.mark.parametrize(("named", "culprits"), [(True, (1,)), (False, ())])
def test_a_given_recipient_is_refused_and_named_or_not(
    sandbox: SandboxServer, client: Resend, named: bool, culprits: tuple[int, ...]
) -> None:
    sandbox.set(reject_addresses=["reader2@example.com"], name_index=named)
    answer = send(client, "k-1", mail(1), mail(2), mail(3))

    assert (answer.happening, answer.culprits) == (Happening.REJECTED, culprits)
    assert sandbox.stats()["mails"] == 0


def test_with_keys_switched_off_every_repeat_is_sent(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(keys=False)
    first, second = send(client), send(client)

    assert first.ids != second.ids
    assert sandbox.recipients()["duplicates"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"nonsense": 1},
        {"rate_per_s": "fast"},
        {"rate_per_s": -1},
        {"keys": 1},
        {"reject_addresses": "a@example.com"},
        {"faults": {"nonsense": {"count": 1}}},
        {"faults": {"storm": {"often": 1}}},
        {"faults": 1},
    ],
)
def test_settings_that_do_not_exist_or_do_not_fit_are_refused_and_change_nothing(
    sandbox: SandboxServer, changes: dict[str, Any]
) -> None:
    before = sandbox.set()
    answer = requests.post(f"{sandbox.url}/sandbox/settings", json=changes, timeout=5)

    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    assert sandbox.set() == before


# What it remembers


def test_recipients_are_counted_by_campaign_and_address(sandbox: SandboxServer, client: Resend) -> None:
    autumn = (("mailward_campaign", "autumn"),)
    send(client, "k-1", mail(1), mail(2))
    send(client, "k-2", mail(1, tags=autumn))
    send(client, "k-3", mail(1, tags=autumn))

    assert sandbox.recipients("spring") == {"recipients": 2, "mails": 2, "min": 1, "max": 1, "duplicates": 0}
    assert sandbox.recipients("autumn") == {"recipients": 1, "mails": 2, "min": 2, "max": 2, "duplicates": 1}
    assert sandbox.recipients() == {"recipients": 3, "mails": 4, "min": 1, "max": 2, "duplicates": 1}
    assert sandbox.recipients("spring", addresses=True)["addresses"] == {
        "reader1@example.com": 1,
        "reader2@example.com": 1,
    }
    assert sandbox.recipients("nobody")["recipients"] == 0


def test_arrivals_are_logged_with_key_size_and_result(sandbox: SandboxServer, client: Resend) -> None:
    began = time.time()
    send(client, "k-1", mail(1), mail(2))
    between = time.time()
    send(client, "k-2", mail(3, to="nobody"))
    first, second = sandbox.arrivals()

    assert (first["key"], first["mails"], first["result"], first["status"]) == ("k-1", 2, "accepted", 200)
    assert (second["key"], second["result"], second["status"]) == ("k-2", "validation_error", 422)
    assert began <= first["time"] <= between <= second["time"] <= time.time()
    assert [one["key"] for one in sandbox.arrivals(since=between)] == ["k-2"]
    assert [one["key"] for one in sandbox.arrivals(key="k-1")] == ["k-1"]


def test_a_call_is_in_the_log_while_it_runs(sandbox: SandboxServer, client: Resend) -> None:
    sandbox.set(latency_ms=500)
    thread = threading.Thread(target=send, args=(client,))
    thread.start()
    wait_until(lambda: len(sandbox.arrivals()) == 1, "the call arrives")

    assert (sandbox.arrivals()[0]["key"], sandbox.arrivals()[0]["status"]) == ("k-1", 0)
    thread.join()


def test_a_reset_forgets_everything_but_the_settings_of_the_start(sandbox: SandboxServer, client: Resend) -> None:
    send(client)
    sandbox.set(rate_per_s=1, keys=False)
    sandbox.reset()

    assert (sandbox.stats()["mails"], sandbox.arrivals(), sandbox.set()["rate_per_s"]) == (0, [], 0)
    assert sandbox.set()["keys"] is True


HOSTILE = '<script>fetch("http://example.net/")</script><img src="http://example.net/pixel"><p>Hi</p>'


def test_the_outbox_shows_a_hostile_mail_without_letting_it_act(sandbox: SandboxServer, client: Resend) -> None:
    answer = send(client, "k-1", mail(1, subject="<script>alert(1)</script>", html=HOSTILE, text=HOSTILE))
    listed = requests.get(f"{sandbox.url}/", timeout=5)
    shown = requests.get(f"{sandbox.url}/mail/{answer.ids[0]}", timeout=5)
    content = requests.get(f"{sandbox.url}/mail/{answer.ids[0]}/html", timeout=5)

    assert "reader1@example.com" in listed.text
    assert "<script" not in listed.text + shown.text
    assert 'sandbox=""' in shown.text
    assert content.text == HOSTILE
    for page in (listed, shown, content):
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert "script-src" not in page.headers["Content-Security-Policy"]
    assert content.headers["Content-Security-Policy"].startswith("sandbox;")
    assert requests.get(f"{sandbox.url}/mail/unknown", timeout=5).status_code == 404


# Webhooks


@pytest.mark.parametrize(
    ("to", "types"),
    [
        ("reader@example.com", ["email.delivered", "email.sent"]),
        ("bounce-1@example.com", ["email.bounced", "email.sent"]),
        ("complain-1@example.com", ["email.complained", "email.delivered", "email.sent"]),
        ("suppressed-1@example.com", ["email.suppressed"]),
        ("failed-1@example.com", ["email.failed"]),
    ],
)
def test_an_address_meets_the_fate_that_its_name_asks_for(
    sandbox: SandboxServer, client: Resend, target: Target, to: str, types: list[str]
) -> None:
    send(client, "k-1", mail(1, to=to))
    sandbox.drain()

    assert sorted(target.types()) == types


def test_a_webhook_is_read_by_the_provider_as_signed_and_tagged(
    sandbox: SandboxServer, client: Resend, target: Target
) -> None:
    answer = send(client, "k-1", mail(7, to="Jane <bounce-7@example.com>"))
    sandbox.drain()
    headers, content = next(post for post in target.posts if b"email.bounced" in post[1])
    request = base.Request(headers, content, datetime.now(UTC))
    provider = webhooks.Resend((SECRET,))

    assert provider.verify(request)
    event = provider.normalise(request).events[0]
    assert (event.kind, event.recipient) == (Kind.HARD_BOUNCE, "bounce-7@example.com")
    assert (event.environment, event.campaign_id, event.recipient_id) == ("test", "spring", "r-7")
    assert event.provider_message_id == answer.ids[0]


def test_a_replayed_call_posts_no_webhooks_again(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    send(client)
    send(client)
    sandbox.drain()

    assert len(target.posts) == 2


def test_webhooks_tell_of_a_call_whose_answer_was_lost(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    sandbox.fault("drop_accepted", count=1)
    send(client)
    sandbox.drain()

    assert sorted(target.types()) == ["email.delivered", "email.sent"]


def test_fractions_of_the_addresses_bounce_and_complain_always_the_same_ones(
    sandbox: SandboxServer, client: Resend, target: Target
) -> None:
    sandbox.set(bounce_fraction=0.2, complaint_fraction=0.1)
    rounds = []
    for key in ("k-1", "k-2"):
        send(client, key, *(mail(number) for number in range(100)))
        sandbox.drain()
        bodies = [json.loads(content) for _, content in target.posts]
        rounds.append(
            {
                kind: {one["data"]["to"][0] for one in bodies if one["type"] == kind}
                for kind in ("email.bounced", "email.complained")
            }
        )
        target.posts.clear()

    assert rounds[0] == rounds[1]
    assert 8 <= len(rounds[0]["email.bounced"]) <= 35
    assert 2 <= len(rounds[0]["email.complained"]) <= 22
    assert not rounds[0]["email.bounced"] & rounds[0]["email.complained"]


def test_a_webhook_is_tried_under_the_same_id_until_it_is_taken(
    sandbox: SandboxServer, client: Resend, target: Target
) -> None:
    target.status = 503
    sandbox.set(muted=["email.delivered"])
    send(client)
    wait_until(lambda: len(target.posts) >= 3, "three attempts")
    target.status = 200
    drained = sandbox.drain()

    assert len({headers["svix-id"] for headers, _ in target.posts}) == 1
    assert (drained["pending"], drained["delivered"]) == (0, 1)
    assert drained["failed_attempts"] >= 3


def test_any_status_but_200_counts_as_not_taken(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    target.status = 204
    sandbox.set(muted=["email.delivered"])
    send(client)
    wait_until(lambda: len(target.posts) >= 2, "a second attempt")

    assert sandbox.stats()["webhooks"]["delivered"] == 0


def test_paused_webhooks_wait_until_they_are_let_go(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    sandbox.set(webhooks_paused=True)
    send(client)
    held = sandbox.drain(wait_s=0.3)
    posted = len(target.posts)
    sandbox.set(webhooks_paused=False)
    sandbox.drain()

    assert (held["pending"], held["paused"], posted) == (2, True, 0)
    assert len(target.posts) == 2


def test_webhooks_keep_their_delays(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    sandbox.set(outcome_delay_s=0.5)
    send(client)
    wait_until(lambda: target.types() == ["email.sent"], "the first webhook")
    sandbox.drain()

    assert target.types() == ["email.sent", "email.delivered"]


def test_muted_types_and_named_addresses_are_heeded(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    sandbox.set(
        muted=["email.sent"], suppressed_addresses=["reader1@example.com"], failed_addresses=["reader2@example.com"]
    )
    send(client, "k-1", mail(1), mail(2), mail(3))
    sandbox.drain()

    assert sorted(target.types()) == ["email.delivered", "email.failed", "email.suppressed"]


def test_webhooks_are_posted_several_at_once(sandbox: SandboxServer, client: Resend, target: Target) -> None:
    for number in range(5):
        send(client, f"k-{number}", *(mail(number * 100 + one) for one in range(100)))
    drained = sandbox.drain()

    assert (drained["pending"], drained["delivered"], len(target.posts)) == (0, 1000, 1000)
    assert len({headers["svix-id"] for headers, _ in target.posts}) == 1000
