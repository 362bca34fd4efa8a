"""What processes say about themselves: structured logs without addresses, and a closed list of counters."""

import json
import logging
import math
import re
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

UNKNOWN_PROVIDER = "unknown"  # counters never take a provider's name from a URL, which is anybody's to write

# A quoted local part, or words that ' and = may join (o'neill, VERP). Linear in the text: nothing is tried from inside
# a word, or taken back.
_WORD = r"""[^\s<>"'(),;:=\[\]@]"""
_ADDRESS = re.compile(rf"""(?:"[^"\n]{{1,64}}"|(?<!{_WORD}){_WORD}++(?:['=]{_WORD}++){{0,8}})@(?:{_WORD}|@)++""")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Series(StrEnum):
    """Every counter there is; adding to any other name raises."""

    ACCEPTED = "accepted"  # recipient events and parked items confirmed to a 200, by kind
    COUNTED = "counted"  # items of kinds that nobody acts on, by kind
    PARKED = "parked"  # items parked
    SECRET = "secret"  # noqa: S105 - requests accepted, by which secret proved them ("1 of 2")
    REFUSED = "refused"  # requests refused, by reason
    BUSY = "busy"  # requests answered busy, by reason
    OUTCOME = "outcome"  # events handled by the consumer, by outcome
    RETRIED = "retried"  # failed attempts that go to a delay queue
    DEAD_LETTERED = "dead_lettered"
    CALLS = "calls"  # answers of a provider's send API, by what they mean
    RESERVATIONS = "reservations"  # deliveries reserved when a call was sealed
    SENDS = "sends"  # deliveries found sent, by what said so: empty for the provider's answer, event for its webhook
    SKIPS = "skips"  # deliveries skipped, by reason
    UNKNOWN = "unknown"  # deliveries whose call ended without anybody knowing, by why
    DUPLICATE_DETECTED = "email.duplicate_detected"  # by cause, once per queue message


class Counters:
    """Counts in memory until somebody drains them into SQL; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str, str], int] = {}

    def add(self, name: str, provider: str, label: str = "", n: int = 1) -> None:
        """Add `n` to the series `name` (a member of Series) of `provider`."""
        key = (Series(name).value, provider, label)
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + n

    def drain(self) -> dict[tuple[str, str, str], int]:
        """All counts since the last call, by (name, provider, label)."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return counts


def redact(text: str) -> str:
    """`text` with everything that looks like an address replaced by <address>."""
    return _ADDRESS.sub("<address>", text) if "@" in text else text


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, process, event (the message) and the fields given as `extra`."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": self._process,
            "event": record.getMessage(),
        }
        line.update((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return json.dumps({name: _clean(value) for name, value in line.items()}, separators=(",", ":"))


def configure(process: str, level: str) -> None:
    """Send all logs of this process to standard output as JSON lines; pika's own chatter only from warnings on."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonFormatter(process))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("pika").setLevel(logging.CRITICAL)  # its errors reach us as exceptions, once
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(name)): _clean(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # NaN is not JSON
    return value if isinstance(value, int | float | bool | None) else redact(str(value))
