"""Brings a process's counters to SQL every few seconds, beside its work: neither waits for the other."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from core import counts
from core.telemetry import Counters

log = logging.getLogger(__name__)

EVERY_S = 2.0  # a person who watches sees it at once; a request is never slower for it


class Flusher:
    """A thread (under gevent a greenlet) that adds the counters to SQL; what SQL refuses waits for the next time."""

    def __init__(self, counters: Counters, engine: Engine, clock: Callable[[], datetime]) -> None:
        self._counters = counters
        self._engine = engine
        self._clock = clock

    def start(self) -> None:
        """Start in the background; call after the process has forked."""
        threading.Thread(target=self._run, name="flusher", daemon=True).start()

    def flush(self) -> bool:
        """Bring the counts since the last time to SQL; False if it did not take them."""
        increments = self._counters.drain()
        if not increments:
            return True
        try:
            with self._engine.begin() as connection:
                counts.add(connection, increments, self._clock())
        except SQLAlchemyError as error:
            for (name, provider, label), n in increments.items():
                self._counters.add(name, provider, label, n)
            log.warning("counts_not_written", extra={"error_type": type(error).__name__, "error": str(error)[:300]})
            return False
        return True

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(EVERY_S)
            self.flush()
