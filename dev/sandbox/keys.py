"""Idempotency keys, remembered for 24 hours: replay, or one of two conflicts.

Not documented, and decided here: bodies are compared byte by byte; a key is remembered once its call is accepted,
whatever then becomes of the answer; a refused call leaves no trace.
"""

import hashlib
import re
from collections import OrderedDict
from dataclasses import dataclass

from dev.sandbox.refusal import Refusal

WINDOW_S = 24 * 3600.0
LONGEST = 256

_KEY = re.compile(r"[!-~]{1,256}")


@dataclass(slots=True)
class Entry:
    """An accepted call under its key; `running` until its answer is ready."""

    digest: bytes
    ids: list[str]
    at: float
    running: bool = True


class KeyStore:
    """The keys of the last 24 hours, by the sandbox's clock."""

    def __init__(self) -> None:
        self._entries: OrderedDict[str, Entry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: str, digest: bytes, now: float) -> Entry | None:
        """The earlier call with this key and body; None for a new key. Raises Refusal for the two conflicts."""
        self._forget(now)
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.digest != digest:
            raise Refusal(
                409,
                "invalid_idempotent_request",
                "This idempotency key has been used with a different request body. Retrying is useless.",
            )
        if entry.running:
            raise Refusal(
                409,
                "concurrent_idempotent_requests",
                "Another request with this idempotency key is in progress. Try again later.",
            )
        return entry

    def begin(self, key: str, digest: bytes, ids: list[str], now: float) -> Entry:
        """Remember an accepted call."""
        entry = Entry(digest, ids, now)
        self._entries[key] = entry
        return entry

    def _forget(self, now: float) -> None:
        while self._entries:
            key, oldest = next(iter(self._entries.items()))
            if now - oldest.at < WINDOW_S:
                return
            del self._entries[key]


def check(key: str) -> None:
    """Raises Refusal for a key that Resend would not take."""
    if not _KEY.fullmatch(key):
        raise Refusal(400, "invalid_idempotency_key", f"The key must be between 1 and {LONGEST} characters.")


def digest(body: bytes) -> bytes:
    """What stands for a body; a megabyte takes a millisecond, so once for each call."""
    return hashlib.sha256(body).digest()
