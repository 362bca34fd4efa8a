"""Reads rate limits out of response headers: the IETF's draft 06 (`ratelimit-*`) and `retry-after` of RFC 9110."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from sender.clients.base import Rate

LONGEST_S = 31 * 86_400.0  # a month, the longest quota; what asks for more is nonsense and counts as not said

_WINDOW = re.compile(r";\s*w=(\d{1,7})")


def read(headers: Mapping[str, str], now: datetime) -> Rate:
    """What the headers (names in lower case) say; whatever cannot be read counts as not said."""
    limit = _number(_first(headers.get("ratelimit-limit", "")))
    window = _WINDOW.search(headers.get("ratelimit-limit", ""))
    if limit is not None and window is not None:
        limit = limit / int(window[1]) if int(window[1]) else None
    remaining = _number(_first(headers.get("ratelimit-remaining", "")))
    return Rate(
        limit=limit,
        remaining=None if remaining is None else int(remaining),
        reset_s=_seconds(headers.get("ratelimit-reset", "")),
        retry_after_s=_retry_after(headers.get("retry-after", ""), headers.get("date", ""), now),
    )


def _retry_after(value: str, date: str, now: datetime) -> float | None:
    seconds = _seconds(value)
    if seconds is not None:
        return seconds
    until = _moment(value)
    if until is None:
        return None
    # Both moments are of the provider's clock where it tells its own: ours may be wrong.
    wait_s = (until - (_moment(date) or now)).total_seconds()
    return max(0.0, wait_s) if wait_s <= LONGEST_S else None


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _seconds(text: str) -> float | None:
    number = _number(text)
    return number if number is not None and number <= LONGEST_S else None


def _first(text: str) -> str:
    return re.split("[,;]", text)[0]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
