"""The web process watches the clock process, which watches all others: somebody must notice when nobody watches."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from core import alerts, database, heartbeats
from core.alerting import Alerting
from core.alerts import Reading

log = logging.getLogger(__name__)

EVERY_S = 15.0
LEASE, LEASE_S = "clock-watch", 40.0  # of many web workers one tells
CLOCK = "clock"  # the word of the Procfile


class ClockWatch:
    """A thread (under gevent a greenlet) that tells when no clock has given a sign of life for too long.

    When one is back, its own monitor finds the alert among those that have come to their end, and tells that.
    """

    def __init__(self, engine: Engine, alerting: Alerting, clock: Callable[[], datetime]) -> None:
        self._engine, self._alerting, self._clock = engine, alerting, clock
        self._up_since = clock()

    def start(self) -> None:
        """Start in the background; call after the process has forked."""
        threading.Thread(target=self._run, name="clock-watch", daemon=True).start()

    def look(self) -> int:
        """Look once; returns how many messages were delivered. SQL that is away is somebody else's alert."""
        try:
            with self._engine.begin() as connection:
                if not heartbeats.take_lease(connection, LEASE, heartbeats.instance(), LEASE_S):
                    return 0
            with database.reading(self._engine) as connection:
                seen_at = heartbeats.newest(heartbeats.beats(connection)).get(CLOCK, self._up_since)
            now = self._clock()
            # A web process that has just come up may be early; and everything comes up at once after a deploy.
            silent_s = (now - max(seen_at, self._up_since)) / timedelta(seconds=1)
            return self._alerting.take([Reading(alerts.CONSUMER_MISSING, CLOCK, silent_s)], now, all_there_is=False)
        except SQLAlchemyError as error:
            log.info("clock_not_seen", extra={"error_type": type(error).__name__, "error": str(error)[:200]})
            return 0

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(EVERY_S)
            self.look()
