"""`mailward watch`: what arrives and what comes of it, while it happens, at no cost to anybody."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from consumer.apply_events import EventWork
from core.clock import utc_now
from core.errors import Outage
from core.events import Kind
from core.messages import ATTEMPT, Outgoing
from core.parked import Parked, ParkedReason
from core.parked import encode as encode_parked
from core.publisher import Publisher
from core.recipients import RecipientStore
from core.wire import encode
from ops.watch_arrivals import KEPT, Tap
from tests.command_line import CommandLine
from tests.system import System, event


@contextmanager
def watching(system: System, *options: str) -> Iterator[list[str]]:
    """Lines of `mailward watch`, complete once the block has been left."""
    system.engine.connect().close()
    command = [sys.executable, "-m", "ops", "watch", *options]
    process = subprocess.Popen(command, env=system.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("watching ")
    lines: list[str] = []
    try:
        yield lines
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=10)
        assert (process.returncode, rest) == (0, "")
        lines += out.splitlines()
    finally:
        process.kill()
        process.communicate()


def work(system: System) -> EventWork:
    prefix = system.environ["RECIPIENT_KEY"]
    return EventWork(RecipientStore(system.redis, prefix), system.engine, utc_now)


def test_an_event_is_shown_when_it_arrives_and_when_it_is_done(system: System) -> None:
    with system.channel(), watching(system) as lines:
        system.publish([event(1), event(2, Kind.DELIVERED)])
        work(system).apply([event(1), event(2, Kind.DELIVERED)])

    words = [line.split()[1:] for line in lines]
    assert ["resend", "complaint", "test.rule", "arrived", "r***@example.com", "resend:msg_1"] in words
    assert ["resend", "delivered", "test.rule", "arrived", "r***@example.com", "resend:msg_2"] in words
    assert ["resend", "complaint", "test.rule", "absent", "r***@example.com", "resend:msg_1"] in words
    assert ["resend", "-", "-", "ignored", "-", "1", "events"] in words
    assert len(words) == 4


def test_addresses_are_shown_on_request_only(system: System) -> None:
    with system.channel(), watching(system, "--show-addresses") as lines:
        system.publish([event(1)])

    assert "reader1@example.com" in lines[0]


def test_nothing_is_consumed_and_the_tap_goes_with_its_watcher(system: System) -> None:
    with system.channel() as channel:
        with watching(system):
            system.publish([event(1)])

        assert system.depth(system.topology.events.name) == 1
        with Tap(system.environ["AMQP_URL"], system.topology, False) as tap:
            assert tap.take(0.2) == []  # it sees what arrives from now on, not what lies there
        channel.queue_declare(system.topology.events.name, passive=True)


def test_retries_parked_and_unreadable_messages_are_shown_too(system: System) -> None:
    names = system.topology
    letter = Parked("resend", {}, b"x", datetime.now(UTC), (ParkedReason(3, "names no single recipient"),))
    with system.channel() as channel, Tap(system.environ["AMQP_URL"], names, False) as tap:
        publisher = Publisher(system.environ["AMQP_URL"], connection_name="test")
        publisher.publish(
            [
                Outgoing(names.work_exchange, names.events.name, encode(event(1)), "resend:msg_1", {ATTEMPT: 2}),
                Outgoing(names.work_exchange, names.events.parked, encode_parked(letter), "parked:1"),
                Outgoing(names.work_exchange, names.events.name, b"nonsense", "id-of-nonsense"),
            ],
            5.0,
        )
        publisher.close()
        lines = tap.take(1.0)
        channel.queue_purge(names.events.name)

    assert [line.split("  ")[-1] for line in lines] == [
        "resend:msg_1",
        "item 3",
        "a message that cannot be read: not_json, id id-of-nonsense",
    ]
    assert "attempt 2" in lines[0]
    assert "names no single recipient" in lines[1]


def test_a_watcher_that_sleeps_does_not_slow_or_stop_a_publisher(system: System) -> None:
    url, names = system.environ["AMQP_URL"], system.topology
    exchange, queue = names.work_exchange, names.events.name
    messages = [Outgoing(exchange, queue, b"x" * 1000, f"id-{n}") for n in range(5 * KEPT)]
    with system.channel(), Tap(url, names, False) as tap:
        publisher = Publisher(url, connection_name="test")
        publisher.publish(messages, 30.0)
        publisher.close()

        lines = tap.take(2.0)

    assert system.topology.events.name
    assert 0 < len(lines) <= len(messages)
    assert len(messages) > KEPT


def test_a_missing_work_queue_ends_the_watch_so_that_publishing_stays_unroutable(system: System) -> None:
    url, names = system.environ["AMQP_URL"], system.topology
    mailward = CommandLine(system.environ)
    system.engine.connect().close()
    with system.channel() as channel:
        results: list[tuple[int, str]] = []

        def watch() -> None:
            done = mailward("watch", "--seconds", "20")
            results.append((done.exit_code, done.stderr))

        watcher = threading.Thread(target=watch)
        watcher.start()
        time.sleep(2)
        channel.queue_delete(names.events.name)
        watcher.join(15)
        publisher = Publisher(url, connection_name="test")

        with pytest.raises(Outage, match="unroutable"):
            publisher.publish([Outgoing(names.work_exchange, names.events.name, b"x", "id")], 5.0)
        publisher.close()

    assert results[0][0] == 1
    assert "mailward migrate" in results[0][1]


def test_it_ends_by_itself_after_seconds(system: System) -> None:
    system.engine.connect().close()
    started = time.monotonic()
    with system.channel():
        CommandLine(system.environ).out("watch", "--seconds", "1")

    assert 1 <= time.monotonic() - started < 5


def test_a_broker_that_is_away_is_one_clear_line(system: System) -> None:
    system.engine.connect().close()

    result = CommandLine(system.environ | {"AMQP_URL": "amqp://127.0.0.1:1"})("watch", "--seconds", "1")

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: RabbitMQ at amqp://127.0.0.1:1")
    assert len(result.stderr.splitlines()) == 1
