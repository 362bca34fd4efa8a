"""The doctor on RabbitMQ: connection, version, topology, depths. It creates nothing: what is missing stays missing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pika.exceptions import AMQPError, ChannelClosedByBroker

from core import topology
from core.errors import Outage
from core.topology import Topology, WorkQueue
from ops.broker_connection import connect
from ops.context import Context
from ops.faults import explain
from ops.findings import Finding, fail, ok, warn

OLDEST = (3, 10)  # the first with at-least-once dead-lettering of quorum queues
AREA = "rabbitmq"
_GONE, _DIFFERS = 404, 406


@dataclass
class _Declarations:
    """Records what `topology.declare` would declare."""

    exchanges: list[str] = field(default_factory=list)
    queues: dict[str, dict[str, Any]] = field(default_factory=dict)

    def exchange_declare(self, exchange: str, exchange_type: str, *, durable: bool) -> None:
        self.exchanges.append(exchange)

    def queue_declare(self, queue: str, *, durable: bool, arguments: dict[str, Any]) -> None:
        self.queues[queue] = arguments

    def queue_bind(self, queue: str, exchange: str, routing_key: str) -> None:
        """Bindings cannot be looked at without making them."""


def findings(context: Context) -> Iterator[Finding]:
    """Findings about the broker, or the one that it cannot be reached."""
    try:
        with connect(context.settings.amqp_url, "check") as connection:
            yield _version(connection)
            yield from _topology(connection, context.topology)
    except (AMQPError, OSError, Outage) as error:
        yield fail(AREA, explain(error, context.settings), "")


def _version(connection: Any) -> Finding:
    properties = connection._impl.server_properties or {}  # pika has no public way to what the broker said of itself
    product, version = _text(properties.get("product")), _text(properties.get("version"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if product != "RabbitMQ":
        return warn(AREA, f"this is {product} {version}", "mailward is made for RabbitMQ's quorum queues; use RabbitMQ")
    if numbers < OLDEST:
        return fail(AREA, f"version {version}", "RabbitMQ 3.10 or newer is needed, so that dead letters cannot be lost")
    return ok(AREA, f"connected, version {version}")


def _topology(connection: Any, names: Topology) -> Iterator[Finding]:
    wanted = _Declarations()
    topology.declare(wanted, names)
    problems = [_exchange(connection, exchange) for exchange in wanted.exchanges]
    depths: dict[str, tuple[int, int]] = {}
    for queue, arguments in wanted.queues.items():
        depth = _queue(connection, queue, arguments)
        if isinstance(depth, Finding):
            problems.append(depth)
        else:
            depths[queue] = depth
    found = [problem for problem in problems if problem is not None]
    yield from found
    if not found:
        yield ok(AREA, f"{len(wanted.exchanges)} exchanges and {len(wanted.queues)} queues are as declared")
    for work in names.work_queues:
        yield from _depths(work, depths, "events" if work == names.events else "sends")


def _exchange(connection: Any, exchange: str) -> Finding | None:
    try:
        connection.channel().exchange_declare(exchange, passive=True)
        connection.channel().exchange_declare(exchange, "direct", durable=True)
    except ChannelClosedByBroker as error:
        return _refused("exchange", exchange, error)
    return None


def _queue(connection: Any, queue: str, arguments: dict[str, Any]) -> Finding | tuple[int, int]:
    """How many messages are ready and how many consumers there are; or what is wrong with the queue."""
    try:
        channel = connection.channel()
        answer = channel.queue_declare(queue, passive=True)
        # It exists, so that declaring it creates nothing, but compares the arguments.
        channel.queue_declare(queue, durable=True, arguments=arguments)
        channel.close()
    except ChannelClosedByBroker as error:
        return _refused("queue", queue, error)
    return answer.method.message_count, answer.method.consumer_count


def _refused(what: str, name: str, error: ChannelClosedByBroker) -> Finding:
    if error.reply_code == _GONE:
        return fail(AREA, f"{what} {name} is missing", "Run `mailward migrate`")
    if error.reply_code == _DIFFERS:
        action = (
            "Arguments never change: empty it, delete it by hand, run `mailward migrate`; or use another MAILWARD_ENV"
        )
        return fail(AREA, f"{what} {name} has other arguments: {error.reply_text}", action)
    return fail(AREA, f"{what} {name}: {error.reply_code} {error.reply_text}", "Give the user of AMQP_URL access to it")


def _depths(work: WorkQueue, depths: dict[str, tuple[int, int]], process: str) -> Iterator[Finding]:
    ready, consumers = depths.get(work.name, (0, 0))
    if work.name in depths and not consumers:
        yield warn(AREA, f"nobody consumes {work.name}, {ready} waiting", f"Start `python -m consumer {process}`")
    elif work.name in depths:
        yield ok(AREA, f"{work.name}: {ready} waiting, {consumers} consumers")
    dead = depths.get(work.dead_letters, (0, 0))[0]
    if dead:
        yield warn(AREA, f"{dead} dead letters in {work.dead_letters}", "Look with `mailward dlq list`")
    parked = depths.get(work.parked, (0, 0))[0]
    if parked:
        yield warn(AREA, f"{parked} parked in {work.parked}", "Look with `mailward dlq list`")


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "unknown")
