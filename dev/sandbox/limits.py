"""Limits of the account: calls a second, mails a day, mails a month.

Not documented, and decided here: a second is a fixed window, a day and a month are those of UTC, and every call counts
against the rate, whatever becomes of it.
"""

import math
from datetime import UTC, datetime

from dev.sandbox.refusal import Refusal


class RateLimit:
    """Calls in fixed windows: `rate` a second, or one in 1/`rate` seconds where that is below 1; 0 is no limit."""

    def __init__(self) -> None:
        self._window = -1
        self._used = 0

    def take(self, rate: float, now: float, *, storm: bool = False) -> dict[str, str]:
        """Count a call; returns the headers of its answer. Raises Refusal, as it does for any call in a storm."""
        if rate <= 0 and not storm:
            return {}
        length_s, allowed = (1.0, int(rate)) if rate >= 1 else (1.0 / (rate or 1.0), 1)
        window = int(now / length_s)
        if window != self._window:
            self._window, self._used = window, 0
        self._used += 1
        left_s = max(1, math.ceil((window + 1) * length_s - now))
        headers = {
            "ratelimit-limit": str(allowed),
            "ratelimit-remaining": str(0 if storm else max(0, allowed - self._used)),
            "ratelimit-reset": str(left_s),
        }
        if storm or self._used > allowed:
            text = f"Too many requests. You can only make {allowed} requests per second."
            raise Refusal(429, "rate_limit_exceeded", text, headers | {"retry-after": str(left_s)})
        return headers


class Quota:
    """Mails accepted this day and this month."""

    def __init__(self) -> None:
        self._periods = ("", "")
        self._used = [0, 0]

    def check(self, mails: int, daily: int, monthly: int, now: float) -> None:
        """Raises Refusal where `mails` more would exceed a quota; 0 is no quota."""
        self._turn(now)
        for used, quota, name in zip(self._used, (daily, monthly), ("daily", "monthly"), strict=True):
            if quota and used + mails > quota:
                raise Refusal(429, f"{name}_quota_exceeded", f"You have reached your {name} email sending quota.")

    def count(self, mails: int) -> dict[str, str]:
        """Count accepted mails; returns the headers that tell what is used."""
        self._used = [used + mails for used in self._used]
        return {"x-resend-daily-quota": str(self._used[0]), "x-resend-monthly-quota": str(self._used[1])}

    def _turn(self, now: float) -> None:
        moment = datetime.fromtimestamp(now, UTC)
        periods = (f"{moment:%Y-%m-%d}", f"{moment:%Y-%m}")
        self._used = [
            used if old == new else 0 for used, old, new in zip(self._used, self._periods, periods, strict=True)
        ]
        self._periods = periods
