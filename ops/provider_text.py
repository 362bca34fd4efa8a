"""Every provider and its activity as people and machines read them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.counts import MINUTE_US
from ops.letter_text import printable
from ops.provider_activity import Activity, Refused
from providers.entry import Entry


@dataclass(frozen=True, slots=True)
class Listed:
    """A provider of the registry, whether it is configured here, and what became of its posts."""

    name: str
    entry: Entry
    configured: bool
    activity: Activity


@dataclass(frozen=True, slots=True)
class Listing:
    """All providers, and the posts to names that are none or are not configured; counted from `since` to `now`."""

    providers: Sequence[Listed]
    strangers: Sequence[Refused]
    since: datetime
    now: datetime


def table(listing: Listing) -> Iterator[str]:
    """The lines of `mailward providers`."""
    yield f"{'PROVIDER':<14}{'CONFIGURED':<46}{'LAST ACCEPTED':<18}SECRET"
    for one in listing.providers:
        configured = (
            f"{'yes' if one.configured else 'no'}: {one.entry.setting} is {'' if one.configured else 'not '}set"
        )
        accepted = _minute(one.activity.accepted)
        yield f"{one.name:<14}{configured:<46}{accepted:<18}{' and '.join(one.activity.secrets) or '-'}"
        yield f"{'':<14}proof: {one.entry.proof}"
        yield from (f"{'':<14}{_refused(refused)}" for refused in one.activity.refused)
    for stranger in listing.strangers:
        yield f"no such provider, or not configured (404): {_refused(stranger)}"
    yield f"Counted from {_minute(listing.since)} to {_minute(listing.now)} UTC. A time is the minute in which the last"
    yield "count was written, which is seconds after the post, or longer where SQL was away."


def document(listing: Listing) -> dict[str, Any]:
    """The document of `mailward providers --json`; times are known to `resolution_s` seconds."""
    return {
        "since": listing.since.isoformat(),
        "resolution_s": MINUTE_US // 1_000_000,
        "providers": [
            {
                "name": one.name,
                "title": one.entry.title,
                "configured": one.configured,
                "setting": one.entry.setting,
                "proof": one.entry.proof,
                "last_accepted": one.activity.accepted and one.activity.accepted.isoformat(),
                "last_secrets": [*one.activity.secrets],
                "refused": _as_json(one.activity.refused),
            }
            for one in listing.providers
        ],
        "not_configured": _as_json(listing.strangers),
    }


def _refused(one: Refused) -> str:
    times = f"{one.n:,} time{'' if one.n == 1 else 's'}"
    return printable(f"refused: {one.reason}, {times}, last {_minute(one.last)}")


def _minute(minute: datetime | None) -> str:
    return "-" if minute is None else f"{minute:%Y-%m-%d %H:%M}"


def _as_json(refused: Sequence[Refused]) -> list[Mapping[str, Any]]:
    return [{"reason": one.reason, "last": one.last.isoformat(), "count": one.n} for one in refused]
