"""The pull consumer: what a Cloudflare Queue holds becomes effects, once each, whatever fails in between."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from config.settings import load
from consumer import pulling, readings
from consumer.cloudflare import run_cloudflare
from consumer.stopping import Stopping
from core import alerts, database, parked
from core.clock import utc_now
from core.topology import Topology
from dev.services import RabbitMQ
from tests.fake_cloudflare import ACCOUNT, FakeCloudflare, Trouble, serving
from tests.system import System, wait_until

LEASE_S = 60
GRACE_S = 25  # Heroku kills 30 s after SIGTERM


@pytest.fixture
def queue() -> Iterator[FakeCloudflare]:
    with serving() as one:
        yield one


@pytest.fixture
def on_own_rabbitmq(
    process_environ: dict[str, str], own_rabbitmq: RabbitMQ, topology: Topology, tmp_path: Path
) -> Iterator[System]:
    one = System(process_environ | {"AMQP_URL": own_rabbitmq.url}, topology, tmp_path)
    yield one
    one.close()


def complaint(number: int, **changes: Any) -> dict[str, Any]:
    """An event as a subscription of Email Sending puts it into the queue."""
    return {
        "type": "cf.email.sending.message.complained",
        "source": {"type": "email.sending", "zoneId": "zone-1", "domain": "example.org"},
        "payload": {"eventId": f"evt-{number}", "messageId": f"mail-{number}", "recipient": address(number)},
        "metadata": {"accountId": ACCOUNT, "eventSchemaVersion": 1, "eventTimestamp": "2026-11-22T23:41:12Z"},
    } | changes


def address(number: int) -> str:
    return f"reader{number}@example.com"


def pull(system: System, queue: FakeCloudflare, name: str = "cloudflare", **changes: str) -> subprocess.Popen[bytes]:
    """Start the pull consumer on `queue`; its log is `system.log(name)`."""
    with system.channel():  # declares what the events consumer would have declared
        return system.start(sys.executable, "-m", "consumer", "cloudflare", name=name, **(queue.environ | changes))


def lines(system: System, event: str, name: str = "cloudflare") -> list[dict[str, Any]]:
    """What the pull consumer has logged under `event`."""
    said = [json.loads(line) for line in system.log(name).splitlines() if line.startswith("{")]
    return [line for line in said if line["event"] == event]


def depths(system: System) -> tuple[int, int]:
    """Messages on the work queue and in the parked lane."""
    return system.depth(system.topology.events.name), system.depth(system.topology.events.parked)


def parked_messages(system: System) -> list[parked.Parked]:
    """Take every parked message away."""
    found = []
    with system.channel() as channel:
        while (taken := channel.basic_get(system.topology.events.parked, auto_ack=True))[0] is not None:
            found.append(parked.decode(taken[2] or b""))
    return found


def counted(system: System) -> dict[tuple[str, str], int]:
    """(series, label) → n of the provider, without the outcomes of the events consumer."""
    rows = system.rows("SELECT name, label, sum(n) FROM counts WHERE provider = 'cloudflare' GROUP BY name, label")
    return {(name, label): int(n) for name, label, n in rows if name != "outcome"}


def test_every_event_of_250_is_applied_once_and_the_queue_is_empty_then(system: System, queue: FakeCloudflare) -> None:
    numbers = range(250)
    system.put([address(number) for number in numbers])
    for number in numbers:
        queue.put(complaint(number), ("json", "bytes", "text")[number % 3])
    consumer, puller = system.start(), pull(system, queue)

    wait_until(lambda: system.applied() == 250, "all are applied")
    wait_until(lambda: queue.messages == [], "all are acked")

    assert [system.record(address(number)) for number in numbers] == [None] * 250
    assert system.outcomes() == {"removed": 250}
    assert system.rows("SELECT count(*) FROM journal") == [(250,)]
    assert (system.stop(puller), system.stop(consumer)) == (0, 0)
    assert counted(system) == {("accepted", "complaint"): 250}


def test_pulls_of_a_long_queue_keep_below_what_cloudflare_allows(system: System, queue: FakeCloudflare) -> None:
    for number in range(450):
        queue.put(complaint(number))
    puller = pull(system, queue)

    wait_until(lambda: queue.messages == [], "all are acked")
    pulls = queue.calls_of("pull")

    assert min(after - before for before, after in pairwise(pulls)) >= 0.5
    assert system.stop(puller) == 0


def test_what_nobody_acts_on_is_counted_and_acked(system: System, queue: FakeCloudflare) -> None:
    queue.put(complaint(1, type="cf.email.sending.message.invented"))
    puller = pull(system, queue)
    wait_until(lambda: queue.messages == [], "acked")

    assert depths(system) == (0, 0)
    assert system.stop(puller) == 0
    assert counted(system) == {("counted", "other"): 1}


def test_what_cannot_be_read_is_parked_whole_and_its_neighbours_go_on(system: System, queue: FakeCloudflare) -> None:
    broken: list[tuple[Any, str]] = [
        ("no base64!", "json"),
        ("/w8iBmhlbGxv", "v8"),
        (None, "json"),
        ("bm8gSlNPTg==", "json"),
        ("[" * 100_000, "text"),
    ]
    for body, content_type in broken:
        queue.put(body, content_type, encoded=False)
    queue.put(complaint(1, metadata={"accountId": "somebody-else"}))
    queue.put(complaint(2))
    puller = pull(system, queue)
    wait_until(lambda: queue.messages == [], "all are acked")

    assert depths(system) == (1, 6)
    letters = parked_messages(system)
    assert [letter.provider for letter in letters] == ["cloudflare"] * 6
    assert [letter.body for letter in letters[:5]] == [
        b"no base64!", b"/w8iBmhlbGxv", b"null", b"no JSON", b"[" * 100_000
    ]  # fmt: skip
    assert [letter.items[0].reason for letter in letters] == [
        "the queue message is not base64 (json)",
        "the queue message is of content type v8, which only Workers can read",
        "the queue message has no body",
        "the body is not JSON",
        "the body is nested too deeply",
        "metadata.accountId is not CLOUDFLARE_ACCOUNT_ID",
    ]
    assert letters[0].headers == {"cf-content-type": "json"}
    assert system.stop(puller) == 0
    assert counted(system) == {("accepted", "complaint"): 1, ("accepted", "parked"): 6, ("parked", ""): 6}


def test_a_broker_that_is_away_costs_no_delivery_and_nothing_is_lost(
    on_own_rabbitmq: System, own_rabbitmq: RabbitMQ, queue: FakeCloudflare
) -> None:
    system = on_own_rabbitmq
    puller = pull(system, queue)
    wait_until(lambda: len(queue.calls_of("pull")) > 0, "pulling")
    own_rabbitmq.stop()
    wait_until(lambda: lines(system, "outage") != [], "noticed")
    pulls = len(queue.calls_of("pull"))
    for number in range(20):
        queue.put(complaint(number))
    time.sleep(3)

    assert len(queue.calls_of("pull")) == pulls
    assert [message.attempts for message in queue.messages] == [0] * 20
    own_rabbitmq.start()
    wait_until(lambda: queue.messages == [], "all are acked", 60)

    assert depths(system) == (20, 0)
    assert system.stop(puller) == 0


def test_what_a_broker_did_not_confirm_is_given_back_and_comes_again_later(
    on_own_rabbitmq: System, own_rabbitmq: RabbitMQ, queue: FakeCloudflare
) -> None:
    system = on_own_rabbitmq
    system.put([address(number) for number in range(3)])
    for number in range(3):
        queue.put(complaint(number))
    queue.hold("pull")
    puller = pull(system, queue)
    queue.wait_for("pull")
    own_rabbitmq.freeze()
    queue.release("pull")
    wait_until(lambda: lines(system, "outage") != [], "noticed")

    assert lines(system, "pulled")[0]["again"] == 3
    assert [message.attempts for message in queue.messages] == [1, 1, 1]
    assert all(20 < message.visible_at - queue.now() <= 30 for message in queue.messages)  # sooner than the lease ends
    own_rabbitmq.thaw()
    queue.advance(30)
    wait_until(lambda: queue.messages == [], "all are acked", 60)
    consumer = system.start()
    wait_until(lambda: system.applied() == 3, "applied")
    assert (system.stop(puller), system.stop(consumer)) == (0, 0)
    assert sum(n for (series, _), n in counted(system).items() if series == "busy") == 3


def test_one_message_that_the_broker_does_not_take_is_given_back_alone(system: System, queue: FakeCloudflare) -> None:
    queue.hold("pull")
    puller = pull(system, queue)
    queue.wait_for("pull")
    with system.channel() as channel:
        channel.queue_delete(system.topology.events.parked)
    queue.put("no base64!", "json", encoded=False)
    queue.put(complaint(1))
    queue.release("pull")
    wait_until(lambda: lines(system, "outage") != [], "said")

    assert lines(system, "outage")[0]["code"] == "unroutable"
    assert [(message.body, message.attempts) for message in queue.messages] == [("no base64!", 1)]
    assert depths(system)[0] in (1, 2)  # once with its neighbour, once alone; looking has brought the parked lane back
    queue.advance(30)
    wait_until(lambda: queue.messages == [], "it came again")
    assert depths(system)[1] == 1
    assert system.stop(puller) == 0
    assert counted(system)[("busy", "unroutable")] == 1


def test_killed_between_publishing_and_acking_it_does_all_again_without_harm(
    system: System, queue: FakeCloudflare
) -> None:
    system.put([address(number) for number in range(5)])
    for number in range(5):
        queue.put(complaint(number))
    queue.hold("ack")
    first = pull(system, queue, "first")
    queue.wait_for("ack")
    system.stop(first, signal.SIGKILL)
    queue.release("ack", honoured=False)
    consumer = system.start()
    wait_until(lambda: system.applied() == 5, "applied")
    system.put([address(0)])  # they have signed up again since

    queue.advance(LEASE_S)
    second = pull(system, queue, "second")
    wait_until(lambda: queue.messages == [], "acked at last")
    wait_until(lambda: sum(system.outcomes().values()) == 10, "handled again")

    assert lines(system, "pulled", "second")[0]["seen_before"] == 5
    assert system.rows("SELECT count(*) FROM journal") == [(5,)]
    assert system.record(address(0)) == b"{}"
    assert (system.stop(second), system.stop(consumer)) == (0, 0)


def test_a_lease_that_ends_before_its_ack_makes_a_duplicate_without_harm(system: System, queue: FakeCloudflare) -> None:
    system.put([address(1)])
    queue.put(complaint(1))
    queue.hold("ack")
    first = pull(system, queue, "first")
    queue.wait_for("ack")
    queue.advance(LEASE_S)
    second = pull(system, queue, "second")
    wait_until(lambda: depths(system) == (2, 0), "published by both")
    queue.release("ack")
    wait_until(lambda: queue.messages == [], "acked")
    consumer = system.start()
    wait_until(lambda: sum(system.outcomes().values()) == 2, "handled")

    assert system.rows("SELECT count(*) FROM journal") == [(1,)]
    assert system.record(address(1)) is None
    assert [system.stop(process) for process in (first, second, consumer)] == [0, 0, 0]


def test_acks_that_the_api_did_not_take_are_owed_before_anything_else_is_pulled(
    system: System, queue: FakeCloudflare
) -> None:
    queue.put(complaint(1))
    queue.trouble("ack", Trouble(503), Trouble(500), Trouble(200, body=b"<html>"))
    puller = pull(system, queue)
    wait_until(lambda: queue.messages == [], "acked")

    assert (len(queue.calls_of("ack")), depths(system)) == (4, (1, 0))
    assert [line["code"] for line in lines(system, "outage")] == ["busy", "busy", "unreadable_answer"]
    assert [action for action, _ in queue.calls][:5] == ["pull", "ack", "ack", "ack", "ack"]
    assert system.stop(puller) == 0


@pytest.mark.parametrize(
    ("status", "calls"),
    [
        (400, ["pull", "ack", "pull"]),  # never understood: the lease may end, and the message comes again
        (403, ["pull", "ack", "ack"]),  # the token may not ack: what is pulled would only use up its retries
    ],
)
def test_a_refused_ack_is_owed_unless_the_api_does_not_understand_it(
    system: System, queue: FakeCloudflare, monkeypatch: pytest.MonkeyPatch, status: int, calls: list[str]
) -> None:
    monkeypatch.setattr(pulling, "REFUSED_S", 0.0)
    queue.put(complaint(1))
    queue.trouble("ack", Trouble(status))
    with system.channel():
        stopping = Stopping()
        thread = threading.Thread(
            target=run_cloudflare, args=(load(system.environ | queue.environ), stopping), daemon=True
        )
        thread.start()
        wait_until(lambda: len(queue.calls) >= 3, "three calls")
        stopping.ask()
        thread.join(GRACE_S)

    assert [action for action, _ in queue.calls][:3] == calls
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"CLOUDFLARE_API_TOKEN": "another-token"}, "CLOUDFLARE_API_TOKEN is not accepted"),
        ({"CLOUDFLARE_QUEUE_ID": "name-of-the-queue"}, "CLOUDFLARE_QUEUE_ID is its id, not its name"),
    ],
)
def test_wrong_settings_are_said_in_words_and_the_process_stays(
    system: System, queue: FakeCloudflare, changes: dict[str, str], advice: str
) -> None:
    queue.put(complaint(1))
    puller = pull(system, queue, **changes)
    wait_until(lambda: lines(system, "cloudflare_refuses") != [], "said")

    assert advice in lines(system, "cloudflare_refuses")[0]["error"]
    assert "another-token" not in system.log("cloudflare")
    assert system.rows("SELECT process FROM heartbeat") == []
    time.sleep(2)
    assert len(lines(system, "cloudflare_refuses")) == 1
    assert puller.poll() is None
    assert system.stop(puller) == 0


def test_it_waits_as_long_as_the_api_asks_for(system: System, queue: FakeCloudflare) -> None:
    queue.put(complaint(1))
    queue.trouble("pull", Trouble(429, {"retry-after": "4"}))
    puller = pull(system, queue)
    wait_until(lambda: queue.messages == [], "acked")

    first, second = queue.calls_of("pull")[:2]
    assert 4 <= second - first < 6
    assert lines(system, "outage")[0]["code"] == "rate_limited"
    assert system.stop(puller) == 0


def test_an_api_that_is_away_is_asked_less_and_less_often(system: System, queue: FakeCloudflare) -> None:
    queue.trouble("pull", *[Trouble(502)] * 3)
    puller = pull(system, queue)
    wait_until(lambda: len(queue.calls_of("pull")) == 4, "asked four times")

    at = queue.calls_of("pull")
    pauses = [after - before for before, after in pairwise(at)]
    assert pauses == sorted(pauses)
    assert pauses[-1] > 1.4
    assert system.stop(puller) == 0


def test_an_empty_queue_is_asked_less_and_less_often(system: System, queue: FakeCloudflare) -> None:
    puller = pull(system, queue)
    wait_until(lambda: len(queue.calls_of("pull")) == 4, "asked four times")

    at = queue.calls_of("pull")
    pauses = [after - before for before, after in pairwise(at)]
    assert pauses == sorted(pauses)
    assert system.stop(puller) == 0


def test_sigterm_finishes_what_is_in_hand(system: System, queue: FakeCloudflare) -> None:
    for number in range(20):
        queue.put(complaint(number))
    queue.hold("pull")
    puller = pull(system, queue)
    queue.wait_for("pull")
    puller.send_signal(signal.SIGTERM)
    queue.release("pull")

    assert puller.wait(GRACE_S) == 0
    assert (queue.messages, depths(system)) == ([], (20, 0))
    assert counted(system) == {("accepted", "complaint"): 20}


def test_sigterm_while_nothing_answers_ends_in_time_with_status_0(
    on_own_rabbitmq: System, own_rabbitmq: RabbitMQ, queue: FakeCloudflare
) -> None:
    system = on_own_rabbitmq
    queue.put(complaint(1))
    queue.hold("pull")
    puller = pull(system, queue)
    queue.wait_for("pull")
    own_rabbitmq.freeze()
    queue.hold("ack")
    queue.release("pull")
    asked = time.monotonic()
    puller.send_signal(signal.SIGTERM)

    assert puller.wait(GRACE_S) == 0
    assert time.monotonic() - asked < GRACE_S
    assert len(queue.messages) == 1
    own_rabbitmq.thaw()


def test_without_a_queue_in_the_settings_it_says_so_once_and_waits(system: System) -> None:
    process = system.start(sys.executable, "-m", "consumer", "cloudflare", name="cloudflare")
    wait_until(lambda: lines(system, "not_configured") != [], "said")
    time.sleep(1)

    assert process.poll() is None
    assert len(system.log("cloudflare").splitlines()) == 1
    assert system.rows("SELECT process FROM heartbeat") == []
    assert system.stop(process, timeout_s=5) == 0


def test_it_beats_while_it_can_work_and_only_then_is_expected_to(system: System, queue: FakeCloudflare) -> None:
    puller = pull(system, queue)
    wait_until(lambda: system.rows("SELECT process FROM heartbeat") == [("cloudflare",)], "a beat")

    with database.reading(system.engine) as connection:
        _, silent = readings.of_processes(connection, utc_now(), utc_now(), True)
    assert (silent.rule, silent.subject) == (alerts.CONSUMER_MISSING, "cloudflare")
    assert silent.value is not None
    assert silent.value < 20
    assert system.stop(puller) == 0
    assert system.rows("SELECT process FROM heartbeat") == []


@pytest.mark.parametrize(("pulls", "expected"), [(True, ["events", "cloudflare"]), (False, ["events"])])
def test_a_pull_consumer_is_missed_only_where_the_settings_name_its_queue(
    system: System, pulls: bool, expected: list[str]
) -> None:
    with database.reading(system.engine) as connection:
        found = list(readings.of_processes(connection, utc_now(), utc_now(), pulls))

    assert [one.subject for one in found] == expected
