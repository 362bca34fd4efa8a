"""A look at the broker from outside: how many messages lie in which queue, how many consumers it has, who scans it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pika
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import AMQPError, ChannelClosedByBroker

from core.errors import Outage
from core.scan_lock import scan_running
from core.topology import Topology, WorkQueue, queue_names

TIMEOUT_S = 5
HEARTBEAT_S = 10  # ends the wait for an answer of a broker that froze after the connection was made


@dataclass(frozen=True, slots=True)
class Look:
    """What a queue looks like; `scanned`: somebody holds its letters in hand, so that `ready` says little."""

    ready: int
    consumers: int
    scanned: bool = False


@contextmanager
def connected(amqp_url: str, purpose: str) -> Iterator[BlockingConnection]:
    """A connection with bounded waits; `purpose` is what the broker's operator sees. Raises Outage, inside too."""
    parameters = pika.URLParameters(amqp_url)
    parameters.heartbeat = HEARTBEAT_S
    parameters.socket_timeout = parameters.stack_timeout = parameters.blocked_connection_timeout = TIMEOUT_S
    parameters.client_properties = {"connection_name": f"mailward {purpose}"}
    connection = None
    try:
        connection = BlockingConnection(parameters)
        yield connection
    except (AMQPError, OSError, AMQPConnectorException) as error:
        raise Outage("broker_unreachable", f"{type(error).__name__} {error}".strip()) from error
    finally:
        if connection is not None and connection.is_open:
            connection.close()


def look(connection: BlockingConnection, topology: Topology) -> Mapping[str, Look]:
    """Every queue of `topology` that exists, by name; dead-letter queues with whether somebody scans them."""
    letters = {work.dead_letters for work in topology.work_queues}
    found = {}
    for queue in queue_names(topology):
        channel: BlockingChannel = connection.channel()
        try:
            answer = channel.queue_declare(queue, passive=True).method
        except ChannelClosedByBroker:
            continue  # it does not exist yet
        scanned = queue in letters and scan_running(channel, queue)
        found[queue] = Look(answer.message_count, answer.consumer_count, scanned)
        channel.close()
    return found


def lanes(work: WorkQueue) -> list[str]:
    """The queues of one work queue, in the order in which people read them."""
    parked = [work.parked] if work.parks else []
    return [work.name, *(work.retry(delay_s) for delay_s in work.delays_s), work.dead_letters, *parked]
