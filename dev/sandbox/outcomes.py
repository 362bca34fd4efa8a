"""What becomes of an accepted mail, as the webhooks that tell of it. Pure."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dev.sandbox.faults import Settings
from dev.sandbox.outbox import Kept
from dev.sandbox.validation import bare


@dataclass(frozen=True, slots=True)
class Outcome:
    """One webhook: its type, when it is due after the acceptance, and what its data hold besides the mail."""

    type: str
    after_s: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)


BOUNCE = {
    "bounce": {
        "type": "Permanent",
        "subType": "General",
        "message": "The receiving server does not know this mailbox.",
        "diagnosticCode": ["smtp; 550 5.1.1 no such user"],
    }
}
SUPPRESSED = {
    "suppressed": {
        "type": "OnAccountSuppressionList",
        "reason": "previous_bounce",
        "message": "The address is on the suppression list.",
        "diagnosticCode": [],
    }
}
FAILED = {"failed": {"reason": "reached_daily_quota"}}


def of(kept: Kept, settings: Settings) -> list[Outcome]:
    """The webhooks about a mail, in order, decided by its first recipient.

    An address whose local part begins with bounce, complain, suppressed or failed meets that fate; so do those that the
    settings name, and the fractions of all others that they ask for, chosen by a hash: always the same ones.
    """
    address = bare(kept.to[0])
    later_s = settings.outcome_delay_s
    fate = _fate(address, settings)
    if fate == "suppressed":
        told = [Outcome("email.suppressed", later_s, SUPPRESSED)]
    elif fate == "failed":
        told = [Outcome("email.failed", later_s, FAILED)]
    elif fate == "bounce":
        told = [Outcome("email.sent", settings.sent_delay_s), Outcome("email.bounced", later_s, BOUNCE)]
    else:
        told = [Outcome("email.sent", settings.sent_delay_s), Outcome("email.delivered", later_s)]
        if fate == "complain":
            told.append(Outcome("email.complained", later_s))
    return [one for one in told if one.type not in settings.muted]


def _fate(address: str, settings: Settings) -> str:
    for fate, named in (("suppressed", settings.suppressed_addresses), ("failed", settings.failed_addresses)):
        if address.startswith(fate) or address in named:
            return fate
    for fate in ("bounce", "complain"):
        if address.startswith(fate):
            return fate
    place = zlib.crc32(address.encode()) / 2**32
    if place < settings.bounce_fraction:
        return "bounce"
    return "complain" if place < settings.bounce_fraction + settings.complaint_fraction else ""
