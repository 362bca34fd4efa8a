"""Only one scan of a queue at a time: the lock that says so, and what an operator hears who meets it.

The lock is an exclusive queue: it belongs to the connection that declared it and is gone with it, however that ends.
"""

from pika import exceptions
from pika.adapters.blocking_connection import BlockingChannel

from core.errors import MailwardError, Outage

LOCKED, NOT_FOUND = 405, 404  # reply codes of AMQP 0-9-1
CLASSIC = {"x-queue-type": "classic"}  # written out: the virtual host may have another default, which cannot do this


class ScanRefused(MailwardError):
    """The queue cannot be scanned now: somebody else does, or it does not exist."""


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


def explained(queue: str, error: exceptions.ChannelClosedByBroker) -> MailwardError:
    """What the broker's refusal means for the operator who wants to scan `queue`."""
    if error.reply_code == LOCKED:
        return ScanRefused("scan_running", f"another operator is scanning {queue}: try again when that has ended")
    if error.reply_code == NOT_FOUND:
        return ScanRefused("no_queue", f"the broker has no queue {queue}: run `mailward migrate` first")
    return Outage("scan_lost", f"the broker ended the scan of {queue}: {error.reply_code} {error.reply_text}")
