"""A publish returns only when the broker has every message, or says in time why not."""

import os
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from core.errors import Outage
from core.messages import ATTEMPT, Outgoing, own_headers
from core.publisher import Publisher
from core.topology import Topology
from dev.services import RabbitMQ
from tests.system import wait_until


@pytest.fixture
def publisher(rabbitmq: RabbitMQ) -> Iterator[Publisher]:
    one = Publisher(rabbitmq.url, connection_name="test")
    yield one
    one.close()


@pytest.fixture
def own(own_rabbitmq: RabbitMQ) -> Iterator[Publisher]:
    """A publisher on the broker that the test may stop and freeze."""
    one = Publisher(own_rabbitmq.url, connection_name="test")
    yield one
    own_rabbitmq.thaw()
    one.close()


def messages(topology: Topology, n: int, name: str = "m", size: int = 300) -> list[Outgoing]:
    body = b'{"made": "up"}'.ljust(size)
    return [Outgoing(topology.work_exchange, topology.events.name, body, f"{name}-{i}") for i in range(n)]


def depth(channel: BlockingChannel, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def drained(channel: BlockingChannel, queue: str) -> list[tuple[pika.BasicProperties, bytes]]:
    found: list[tuple[pika.BasicProperties, bytes]] = []
    while True:
        method, properties, body = channel.basic_get(queue, auto_ack=True)
        if method is None:
            return found
        found.append((properties, body))


def outage(publisher: Publisher, batch: list[Outgoing], timeout_s: float = 5.0) -> Outage:
    with pytest.raises(Outage) as caught:
        publisher.publish(batch, timeout_s)
    return caught.value


def test_a_message_arrives_persistent_with_its_id_and_headers(
    publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    publisher.publish([Outgoing(topology.work_exchange, topology.events.name, b"body", "resend:m1")], 5)

    [(properties, body)] = drained(channel, topology.events.name)
    assert (body, properties.message_id, properties.delivery_mode) == (b"body", "resend:m1", 2)
    assert own_headers(properties.headers) == {ATTEMPT: 1}


def test_nothing_connects_before_the_first_publish(rabbitmq: RabbitMQ) -> None:
    before = threading.active_count()

    unused = Publisher("amqp://guest:guest@127.0.0.1:1/%2F", connection_name="test")

    assert (unused.connected, threading.active_count()) == (False, before)
    unused.publish([], 1)
    assert threading.active_count() == before
    unused.close()


def test_1000_messages_of_one_call_are_confirmed_within_a_second(
    publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    publisher.publish(messages(topology, 1, "first"), 5)
    started = time.monotonic()

    publisher.publish(messages(topology, 1000), 5)

    assert time.monotonic() - started < 1.0
    assert depth(channel, topology.events.name) == 1001


def test_eight_threads_share_one_connection(
    rabbitmq: RabbitMQ, publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    def work(number: int) -> None:
        for call in range(50):
            publisher.publish(messages(topology, 1 + call % 3, f"{number}-{call}"), 10)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ids = [properties.message_id for properties, _ in drained(channel, topology.events.name)]
    assert (len(ids), len(set(ids))) == (792, 792)


def test_a_message_without_a_queue_is_an_outage_and_the_neighbours_are_not_harmed(
    publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    lost = Outgoing(topology.work_exchange, "no such key", b"body", "lost")
    errors: list[Outage] = []
    thread = threading.Thread(target=lambda: errors.append(outage(publisher, [*messages(topology, 3, "a"), lost])))
    thread.start()
    publisher.publish(messages(topology, 100, "b"), 5)
    thread.join()

    assert [error.code for error in errors] == ["unroutable"]
    assert "no such key" in errors[0].text
    assert depth(channel, topology.events.name) == 103


def test_a_missing_exchange_is_an_outage_and_the_channel_is_opened_again(
    publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    error = outage(publisher, [Outgoing("no.such.exchange", "key", b"body", "m")])

    assert (error.code, "no.such.exchange" in error.text) == ("refused", True)
    publisher.publish(messages(topology, 1), 5)
    assert depth(channel, topology.events.name) == 1


def test_a_full_queue_is_an_outage(publisher: Publisher, channel: BlockingChannel, environment_name: str) -> None:
    queue = f"{environment_name}.full"
    arguments = {"x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish"}
    channel.queue_declare(queue, durable=True, arguments=arguments)
    try:
        errors: list[Outage] = []
        for number in range(20):  # RabbitMQ takes a few more than the limit before it says no
            _keep_error(errors, publisher, [Outgoing("", queue, b"body", f"m-{number}")], 5)
        assert {error.code for error in errors} == {"refused"}
    finally:
        channel.queue_delete(queue)


@pytest.mark.parametrize(
    "message_id",
    ["resend:" + "x" * 300, "resend:" + "é" * 200, "resend:\ud800"],
    ids=["too long", "too many bytes", "a lone surrogate"],
)
def test_an_id_that_amqp_cannot_carry_does_not_stop_the_message(
    publisher: Publisher, channel: BlockingChannel, topology: Topology, message_id: str
) -> None:
    publisher.publish([Outgoing(topology.work_exchange, topology.events.name, b"body", message_id)], 5)

    [(properties, body)] = drained(channel, topology.events.name)
    assert body == b"body"
    assert properties.message_id


def test_more_than_can_be_in_flight_is_refused_at_once(
    own: Publisher, own_rabbitmq: RabbitMQ, topology: Topology
) -> None:
    own_rabbitmq.freeze()
    waiting = [threading.Thread(target=outage, args=(own, messages(topology, 7_000), 3.0)) for _ in range(2)]
    for thread in waiting:
        thread.start()
    time.sleep(1)
    started = time.monotonic()

    assert outage(own, messages(topology, 7_000)).code == "overloaded"

    assert time.monotonic() - started < 1.5  # the others still wait
    for thread in waiting:
        thread.join()


def test_refused_credentials_are_named_without_the_password(rabbitmq: RabbitMQ, topology: Topology) -> None:
    publisher = Publisher(rabbitmq.url.replace("guest:guest", "guest:wrong-password"), connection_name="test")

    error = outage(publisher, messages(topology, 1))

    assert (error.code, "AMQP_URL" in error.text, "wrong-password" in error.text) == ("access_refused", True, False)
    publisher.close()


def test_a_missing_virtual_host_is_named(rabbitmq: RabbitMQ, topology: Topology) -> None:
    publisher = Publisher(rabbitmq.url.replace("%2F", "nowhere"), connection_name="test")

    error = outage(publisher, messages(topology, 1))

    assert (error.code, "virtual host" in error.text) == ("access_refused", True)
    publisher.close()


def test_an_idle_connection_is_kept_alive_and_the_next_message_arrives_once(
    rabbitmq: RabbitMQ, channel: BlockingChannel, topology: Topology
) -> None:
    publisher = Publisher(f"{rabbitmq.url}?heartbeat=2", connection_name="test")
    publisher.publish(messages(topology, 1, "before"), 5)

    time.sleep(7)

    assert publisher.connected
    publisher.publish(messages(topology, 1, "after"), 5)
    publisher.close()
    ids = [properties.message_id for properties, _ in drained(channel, topology.events.name)]
    assert ids == ["before-0", "after-0"]


def test_connections_closed_by_the_broker_are_replaced_within_the_call(
    own: Publisher, own_rabbitmq: RabbitMQ, own_channel: BlockingChannel, topology: Topology
) -> None:
    own.publish(messages(topology, 1, "before"), 5)
    own_rabbitmq.ctl("close_all_connections", "a test")

    own.publish(messages(topology, 1, "after"), 5)

    assert own.connected


def test_a_stopped_broker_is_an_outage_at_once_and_comes_back_by_itself(
    own: Publisher, own_rabbitmq: RabbitMQ, own_channel: BlockingChannel, topology: Topology
) -> None:
    own.publish(messages(topology, 1, "before"), 5)
    time.sleep(2)  # a quorum queue's name is on disk a while after its declaration was answered
    own_rabbitmq.stop()
    started = time.monotonic()

    assert outage(own, messages(topology, 1, "lost")).code == "broker_unreachable"

    assert time.monotonic() - started < 1
    assert not own.connected
    own_rabbitmq.start()
    wait_until(lambda: own.connected, "connected again without a publish", 10)
    own.publish(messages(topology, 1, "after"), 5)


def test_a_frozen_broker_is_an_outage_within_the_deadline_and_is_used_again_once_thawed(
    own: Publisher, own_rabbitmq: RabbitMQ, own_channel: BlockingChannel, topology: Topology
) -> None:
    own.publish(messages(topology, 1, "before"), 5)
    own_rabbitmq.freeze()
    started = time.monotonic()

    assert outage(own, messages(topology, 1, "frozen"), 2.0).code == "confirm_timeout"
    assert 1.9 < time.monotonic() - started < 2.5
    wait_until(lambda: not own.connected, "the silent connection is dropped", 1)
    assert outage(own, messages(topology, 1, "frozen"), 2.0).code == "confirm_timeout"
    assert time.monotonic() - started < 5

    own_rabbitmq.thaw()
    started = time.monotonic()
    while True:
        with suppress(Outage):
            own.publish(messages(topology, 1, "after"), 5)
            break
        assert time.monotonic() - started < 10


def test_a_batch_in_flight_when_the_connection_breaks_is_sent_again_while_its_deadline_allows(
    own: Publisher, own_rabbitmq: RabbitMQ, own_channel: BlockingChannel, topology: Topology
) -> None:
    own.publish(messages(topology, 1, "before"), 5)
    own_rabbitmq.freeze()
    impatient = threading.Thread(target=outage, args=(own, messages(topology, 1, "impatient"), 1.5))
    errors: list[Outage] = []
    patient = threading.Thread(target=_keep_error, args=(errors, own, messages(topology, 10, "patient"), 15.0))
    impatient.start()
    patient.start()
    impatient.join()
    wait_until(lambda: not own.connected, "the impatient call has made the connection suspect", 2)
    own_rabbitmq.thaw()
    patient.join()

    assert errors == []
    ids = {properties.message_id for properties, _ in drained(own_channel, topology.events.name)}
    assert ids >= {f"patient-{i}" for i in range(10)}


def _keep_error(errors: list[Outage], publisher: Publisher, batch: list[Outgoing], timeout_s: float) -> None:
    try:
        publisher.publish(batch, timeout_s)
    except Outage as error:
        errors.append(error)


def test_a_memory_alarm_is_an_outage_at_once_until_it_clears(
    own: Publisher, own_rabbitmq: RabbitMQ, own_channel: BlockingChannel, topology: Topology
) -> None:
    own.publish(messages(topology, 1, "before"), 5)
    own_rabbitmq.ctl("set_vm_memory_high_watermark", "0.00001")
    try:
        wait_until(lambda: _blocked(own, topology), "blocked", 10)
        started = time.monotonic()
        assert outage(own, messages(topology, 1, "blocked")).code == "blocked"
        assert time.monotonic() - started < 0.5
        assert not own.connected
    finally:
        own_rabbitmq.ctl("set_vm_memory_high_watermark", "absolute", "1GB")
    wait_until(lambda: own.connected, "connected again", 10)
    own.publish(messages(topology, 1, "after"), 5)


def _blocked(publisher: Publisher, topology: Topology) -> bool:
    try:
        publisher.publish(messages(topology, 1, "probe"), 2)
    except Outage as error:
        return error.code == "blocked"
    return False


def test_a_forked_process_gets_a_connection_of_its_own(
    publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    publisher.publish(messages(topology, 1, "parent"), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads do not survive a fork: that is what is tested
        child = os.fork()
    if child == 0:
        try:
            publisher.publish(messages(topology, 5, "child"), 5)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    publisher.publish(messages(topology, 1, "parent-again"), 5)

    assert os.waitstatus_to_exitcode(status) == 0
    assert depth(channel, topology.events.name) == 7


def test_require_queue_is_satisfied_by_a_queue_that_exists_and_by_nothing_else(
    publisher: Publisher, channel: BlockingChannel, topology: Topology
) -> None:
    publisher.require_queue(topology.events.name, 2)

    with pytest.raises(Outage, match="no such queue"):
        publisher.require_queue("no such queue", 2)
    publisher.publish(messages(topology, 1), 5)


def test_closing_lets_what_is_in_flight_arrive(
    rabbitmq: RabbitMQ, channel: BlockingChannel, topology: Topology
) -> None:
    publisher = Publisher(rabbitmq.url, connection_name="test")
    publisher.publish(messages(topology, 1, "first"), 5)
    errors: list[Outage] = []
    thread = threading.Thread(target=_keep_error, args=(errors, publisher, messages(topology, 5000), 10.0))
    thread.start()
    time.sleep(0.03)

    publisher.close()
    thread.join()

    assert errors == []
    assert depth(channel, topology.events.name) == 5001


def test_closing_ends_although_the_broker_is_frozen(own: Publisher, own_rabbitmq: RabbitMQ, topology: Topology) -> None:
    outage(own, messages(topology, 1))
    own_rabbitmq.freeze()
    started = time.monotonic()

    own.close()

    assert time.monotonic() - started < 4
    assert "publisher" not in [thread.name for thread in threading.enumerate()]
