"""What the counters tell of each provider: last accepted and by which secret, last refused and why. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from core.counts import Seen
from core.telemetry import Series

TOLD_BY = (Series.ACCEPTED, Series.COUNTED, Series.SECRET, Series.REFUSED)
Counted = Mapping[tuple[str, str, str], Seen]  # by (series, provider, label)


@dataclass(frozen=True, slots=True)
class Refused:
    """How often posts were refused for `reason`, and the minute in which the last was written down."""

    reason: str
    last: datetime
    n: int


@dataclass(frozen=True, slots=True)
class Activity:
    """What became of a provider's posts; `accepted` is the minute of the last one, None where there was none.

    `secrets` are those that proved the posts of the newest minute which tells ("1 of 2"): more than one while both
    are in use, none where only older versions of mailward have counted.
    """

    accepted: datetime | None
    secrets: tuple[str, ...]
    refused: tuple[Refused, ...]


def activity(counted: Counted, provider: str) -> Activity:
    """The activity of `provider`; refusals with the newest first."""
    own = {(name, label): seen for (name, of, label), seen in counted.items() if of == provider}
    accepted = [seen.last for (name, _), seen in own.items() if name != Series.REFUSED]
    secrets = {label: seen.last for (name, label), seen in own.items() if name == Series.SECRET}
    newest = max(secrets.values(), default=None)
    refused = [Refused(label, seen.last, seen.n) for (name, label), seen in own.items() if name == Series.REFUSED]
    return Activity(
        max(accepted, default=None),
        tuple(sorted(secret for secret, last in secrets.items() if last == newest)),
        tuple(sorted(sorted(refused, key=lambda one: one.reason), key=lambda one: one.last, reverse=True)),
    )
