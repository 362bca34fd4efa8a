"""Only one scan of a queue at a time: the lock that says so, for whoever takes letters into hand to look at them.

The lock is an exclusive queue: it belongs to the connection that declared it and is gone with it, however that ends.
"""

from pika import exceptions
from pika.adapters.blocking_connection import BlockingChannel

LOCKED = 405  # reply code of AMQP 0-9-1: RESOURCE_LOCKED
CLASSIC = {"x-queue-type": "classic"}  # written out: the virtual host may have another default, which cannot do this


def lock_name(queue: str) -> str:
    """The queue that exists while `queue` is being scanned."""
    return f"{queue}.scan"


def lock(channel: BlockingChannel, queue: str) -> None:
    """Take the lock for as long as the connection lives; raises pika's ChannelClosedByBroker where it is taken."""
    channel.queue_declare(lock_name(queue), exclusive=True, arguments=CLASSIC)


def scan_running(channel: BlockingChannel, queue: str) -> bool:
    """Whether somebody else's scan holds messages of `queue` right now; asked on a channel of its own."""
    asking = channel.connection.channel()
    try:
        asking.queue_declare(lock_name(queue), passive=True)
    except exceptions.ChannelClosedByBroker as error:
        return bool(error.reply_code == LOCKED)
    asking.close()
    return True
