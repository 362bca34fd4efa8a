"""A connection to the broker for one command: bounded waits, and pika's errors made catchable."""

import pika
from pika.adapters.blocking_connection import BlockingConnection
from pika.adapters.utils.connection_workflow import AMQPConnectorException

from core.errors import Outage

TIMEOUT_S = 5
HEARTBEAT_S = 10  # ends the wait for an answer of a broker that froze after the connection was made


def connect(amqp_url: str, purpose: str) -> BlockingConnection:
    """Connect; `purpose` is what the broker's operator sees. Raises pika's AMQPError, OSError, or Outage."""
    parameters = pika.URLParameters(amqp_url)
    parameters.heartbeat = HEARTBEAT_S
    parameters.socket_timeout = parameters.stack_timeout = parameters.blocked_connection_timeout = TIMEOUT_S
    parameters.client_properties = {"connection_name": f"mailward {purpose}"}
    try:
        return BlockingConnection(parameters)
    except AMQPConnectorException as error:  # of a broker that takes the connection and says nothing; not an AMQPError
        raise Outage("broker_unreachable", f"no answer within {TIMEOUT_S} s") from error
