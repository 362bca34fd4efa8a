"""Time: the one clock that composition roots pass in, and how far a written time may run ahead of it."""

from datetime import UTC, datetime, timedelta

SKEW = timedelta(
    minutes=5
)  # machines disagree by seconds, timestamps in records by mistakes; beyond this it is a mistake


def utc_now() -> datetime:
    """The current time, aware UTC."""
    return datetime.now(UTC)
