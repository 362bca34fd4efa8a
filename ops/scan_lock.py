"""What an operator hears whom the lock of core.scan_lock, or a missing queue, keeps from scanning."""

from pika import exceptions

from core.errors import MailwardError, Outage
from core.scan_lock import LOCKED, lock, lock_name, scan_running

__all__ = ["ScanRefused", "explained", "lock", "lock_name", "scan_running"]

NOT_FOUND = 404  # reply code of AMQP 0-9-1


class ScanRefused(MailwardError):
    """The queue cannot be scanned now: somebody else does, or it does not exist."""


def explained(queue: str, error: exceptions.ChannelClosedByBroker) -> MailwardError:
    """What the broker's refusal means for the operator who wants to scan `queue`."""
    if error.reply_code == LOCKED:
        return ScanRefused("scan_running", f"another operator is scanning {queue}: try again when that has ended")
    if error.reply_code == NOT_FOUND:
        return ScanRefused("no_queue", f"the broker has no queue {queue}: run `mailward migrate` first")
    return Outage("scan_lost", f"the broker ended the scan of {queue}: {error.reply_code} {error.reply_text}")
