"""The topology on a real broker: declared again without harm, held as declared, and refused where it differs."""

import json
import time
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker, UnroutableError

from core import topology as broker_topology
from core.topology import Topology
from dev.services import RabbitMQ

PERSISTENT = pika.BasicProperties(delivery_mode=2)


def held(rabbitmq: RabbitMQ, what: str, *columns: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(rabbitmq.ctl(what, "--formatter", "json", *columns))
    return rows


def declared_queues(topology: Topology) -> dict[str, dict[str, Any]]:
    return {queue: arguments for queue, _, _, arguments in broker_topology._queues(topology)}


def publish(channel: BlockingChannel, exchange: str, key: str, body: bytes = b"body") -> None:
    channel.basic_publish(exchange, key, body, PERSISTENT, mandatory=True)


def take(channel: BlockingChannel, queue: str, timeout_s: float = 10.0) -> tuple[Any, bytes]:
    """The next message of `queue`: its properties and body."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        method, properties, body = channel.basic_get(queue)
        if method is not None:
            channel.basic_ack(method.delivery_tag)
            return properties, body or b""
        time.sleep(0.05)
    raise AssertionError(f"nothing in {queue} within {timeout_s} s")


def test_declaring_again_is_harmless_and_keeps_what_is_queued(channel: BlockingChannel, topology: Topology) -> None:
    publish(channel, topology.work_exchange, topology.events.name)

    broker_topology.declare(channel, topology)

    assert take(channel, topology.events.name)[1] == b"body"


def test_the_broker_holds_the_queues_as_they_are_declared(
    channel: BlockingChannel, topology: Topology, rabbitmq: RabbitMQ
) -> None:
    queues = {
        row["name"]: ({name: value for name, _, value in row["arguments"]}, row["durable"], row["type"])
        for row in held(rabbitmq, "list_queues", "name", "arguments", "durable", "type")
        if row["name"].startswith(topology.prefix)
    }

    assert queues == {name: (arguments, True, "quorum") for name, arguments in declared_queues(topology).items()}


def test_the_broker_holds_the_exchanges_and_bindings_as_they_are_declared(
    channel: BlockingChannel, topology: Topology, rabbitmq: RabbitMQ
) -> None:
    exchanges = {
        (row["name"], row["type"], row["durable"])
        for row in held(rabbitmq, "list_exchanges", "name", "type", "durable")
        if row["name"].startswith(topology.prefix)
    }
    bindings = {
        (row["destination_name"], row["source_name"], row["routing_key"])
        for row in held(rabbitmq, "list_bindings")
        if row["source_name"].startswith(topology.prefix)
    }

    assert exchanges == {
        (name, "direct", True)
        for name in (topology.work_exchange, topology.retry_exchange, topology.dead_letter_exchange)
    }
    assert bindings == {(queue, exchange, key) for queue, exchange, key, _ in broker_topology._queues(topology)}


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("x-delivery-limit", 21),
        ("x-queue-type", "classic"),
        ("x-dead-letter-exchange", ""),
        ("x-dead-letter-strategy", "at-most-once"),
        ("x-overflow", "drop-head"),
        ("x-message-ttl", 1000),
    ],
)
def test_another_argument_is_refused_with_406(
    channel: BlockingChannel, topology: Topology, argument: str, value: object
) -> None:
    arguments = declared_queues(topology)[topology.events.name] | {argument: value}

    with pytest.raises(ChannelClosedByBroker) as refusal:
        channel.queue_declare(topology.events.name, durable=True, arguments=arguments)

    assert refusal.value.reply_code == 406


def test_other_delays_declare_beside_the_old_ones(channel: BlockingChannel, topology: Topology) -> None:
    other = Topology(topology.prefix, (1, 3))

    broker_topology.declare(channel, other)

    channel.queue_declare(topology.events.retry(2), passive=True)
    channel.queue_delete(other.events.retry(3))


@pytest.mark.parametrize("delay_s", [1, 2])
def test_a_delay_queue_returns_a_message_after_its_delay_with_its_own_headers(
    channel: BlockingChannel, topology: Topology, delay_s: int
) -> None:
    properties = pika.BasicProperties(delivery_mode=2, message_id="resend:msg_1", headers={"attempt": 2})
    started = time.monotonic()
    channel.basic_publish(topology.retry_exchange, topology.events.retry(delay_s), b"body", properties, mandatory=True)

    back, body = take(channel, topology.events.name)

    assert time.monotonic() - started >= delay_s - 0.1
    assert (body, back.message_id, back.headers["attempt"], back.delivery_mode) == (b"body", "resend:msg_1", 2, 2)


def test_a_rejected_message_becomes_a_dead_letter(channel: BlockingChannel, topology: Topology) -> None:
    publish(channel, topology.work_exchange, topology.events.name)
    method, _, _ = channel.basic_get(topology.events.name)
    assert method is not None
    channel.basic_nack(method.delivery_tag, requeue=False)

    properties, body = take(channel, topology.events.dead_letters)

    assert body == b"body"
    assert properties.headers["x-death"][0]["reason"] == "rejected"


def test_a_parked_message_has_a_lane_of_its_own(channel: BlockingChannel, topology: Topology) -> None:
    publish(channel, topology.work_exchange, topology.events.parked)

    assert take(channel, topology.events.parked)[1] == b"body"
    assert channel.basic_get(topology.events.name)[0] is None


def test_a_dead_letter_is_still_there_after_many_looks(channel: BlockingChannel, topology: Topology) -> None:
    publish(channel, topology.dead_letter_exchange, topology.events.name)
    for _ in range(30):
        properties_and_body = channel.basic_get(topology.events.dead_letters)
        while properties_and_body[0] is None:
            properties_and_body = channel.basic_get(topology.events.dead_letters)
        channel.basic_nack(properties_and_body[0].delivery_tag, requeue=True)

    assert take(channel, topology.events.dead_letters)[1] == b"body"


def test_a_key_that_nobody_bound_is_returned(channel: BlockingChannel, topology: Topology) -> None:
    with pytest.raises(UnroutableError):
        publish(channel, topology.work_exchange, "nobody")
