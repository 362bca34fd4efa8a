"""How far another machine's clock is from ours."""

from collections.abc import Callable
from datetime import datetime

from ops.findings import Finding, fail, ok, warn

NOTICEABLE_S = 5.0
HARMFUL_S = 300.0  # core.clock.SKEW: from here on a fence written by that machine counts as absent


def compare(area: str, ask: Callable[[], datetime], clock: Callable[[], datetime]) -> Finding:
    """Ask for the other's time, and judge its distance from the middle of the time that asking took."""
    before = clock()
    theirs = ask()
    after = clock()
    skew_s = (theirs - (before + (after - before) / 2)).total_seconds()
    if abs(skew_s) < NOTICEABLE_S:
        return ok(area, f"clock agrees with ours to {abs(skew_s):.1f} s")
    found = fail if abs(skew_s) >= HARMFUL_S else warn
    direction = "ahead of" if skew_s > 0 else "behind"
    return found(
        area,
        f"clock is {abs(skew_s):.0f} s {direction} ours",
        "Run NTP on both: eligible_since and bounces are compared to the second",
    )
