"""The event: what a provider told us about one recipient, in our own words.

Owns the vocabulary of kinds and the frozen value. Knows nothing of JSON (core.wire), providers or stores.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

DETAIL_LIMIT = (
    1024  # characters of provider diagnostics kept with an event; the rest helps nobody and fills the journal
)


class Kind(StrEnum):
    """What happened to a mail, whichever provider says so."""

    ACCEPTED = "accepted"  # the provider took the message over
    DELIVERED = "delivered"
    DEFERRED = "deferred"  # the provider is still trying
    SOFT_BOUNCE = "soft_bounce"  # given up, but no proof that the mailbox is dead
    HARD_BOUNCE = "hard_bounce"  # permanent: this mailbox is dead
    COMPLAINT = "complaint"
    UNSUBSCRIBED = "unsubscribed"
    REJECTED = "rejected"  # the provider did not even try: an echo of something older
    OTHER = "other"  # opens, clicks and whatever providers invent: counted only


REMOVING = frozenset({Kind.HARD_BOUNCE, Kind.COMPLAINT})
QUEUED = frozenset(Kind) - {Kind.OTHER}


@dataclass(frozen=True, slots=True)
class Event:
    """One provider event about one recipient.

    `recipient` is the address in normal form (core.addresses) and `recipient_verbatim` the bare address as the
    provider wrote it. Times are aware UTC; `occurred_at` is never later than `received_at`. `single_use` is a proof
    that is good for this event alone (a token that signs no body): another event that shows it again is not believed.
    """

    event_id: str
    provider: str
    kind: Kind
    recipient: str
    recipient_verbatim: str
    occurred_at: datetime
    received_at: datetime
    rule: str
    provider_message_id: str = ""
    campaign_id: str = ""
    recipient_id: str = ""
    environment: str = ""
    detail: str = ""
    single_use: str = ""

    @property
    def removes(self) -> bool:
        """True for the two kinds that may delete a recipient record."""
        return self.kind in REMOVING
