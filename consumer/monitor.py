"""One look at everything that can go wrong, and the alerts that follow from it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Engine

from consumer import readings
from consumer.crash_letters import log_crash_loops
from core import database, queue_looks
from core.alerting import Alerting
from core.errors import Outage
from core.queue_looks import Look
from core.topology import Topology

log = logging.getLogger(__name__)


@dataclass
class Monitor:
    """Watches queues, processes, campaigns and counters; `up_since` is when it began to.

    `pulls` says that the settings name a queue of Cloudflare, and so that a process must run which pulls it.
    """

    engine: Engine
    amqp_url: str
    topology: Topology
    alerting: Alerting
    up_since: datetime
    pulls: bool = False
    _depths: dict[str, int] = field(default_factory=dict)

    def look(self, now: datetime) -> int:
        """One pass; returns how many messages were delivered. Raises what SQL raises; the broker may be away."""
        looks = self._look_at_broker(now)
        with database.reading(self.engine) as connection:
            found = [
                *readings.of_queues(connection, looks, self.topology, now),
                *readings.of_processes(connection, self.up_since, now, self.pulls),
                *readings.of_campaigns(connection, now),
                *readings.of_counters(connection, now),
            ]
        return self.alerting.take(found, now)

    def _look_at_broker(self, now: datetime) -> Mapping[str, Look] | None:
        try:
            with queue_looks.connected(self.amqp_url, "monitor") as connection:
                looks = queue_looks.look(connection, self.topology)
                for work in self.topology.work_queues:
                    look = looks.get(work.dead_letters)
                    if look is None or look.scanned:
                        continue
                    # Letters that have come since may be of a crash loop; taking them in hand has a price for each.
                    if look.ready > self._depths.get(work.dead_letters, 0):
                        log_crash_loops(connection, work, self.engine, now)
                    self._depths[work.dead_letters] = look.ready
        except Outage as error:
            log.warning("broker_not_seen", extra={"code": error.code, "error": error.text[:300]})
            return None
        return looks
