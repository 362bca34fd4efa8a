"""The `clock` process: the sweeper every two seconds, the monitor every fifteen. Several may run; one acts."""

import logging
import threading
from collections.abc import Callable

from pika.exceptions import AMQPError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from config.settings import Settings
from consumer.monitor import Monitor
from consumer.stopping import Stopping
from core import database, heartbeats, single_use
from core.alert_delivery import Channel
from core.alerting import Alerting
from core.clock import utc_now
from core.errors import MailwardError
from core.heartbeats import Heart
from core.publisher import Publisher
from core.topology import Topology, queue_prefix
from sender.sweeper import Sweeper

log = logging.getLogger(__name__)

SWEEP_EVERY_S, MONITOR_EVERY_S = 2.0, 15.0
LEASE_S = 7.0  # three sweeps: after a clock was killed, the next acts this soon
LEASE = "clock"
CONFIRM_S = 10.0
AWAY = (MailwardError, SQLAlchemyError, AMQPError, OSError)  # what services that are away raise; it passes


def run_clock(settings: Settings, stopping: Stopping) -> None:
    """Sweep and watch until a stop is asked for; survives any outage."""
    topology = Topology(queue_prefix(settings.env), settings.retry_delays_s)
    engine = database.create(settings.database_url, settings.database_schema)
    publisher = Publisher(settings.amqp_url, connection_name="mailward clock")
    owner = heartbeats.instance()
    sweeper = Sweeper(engine, lambda messages: publisher.publish(messages, CONFIRM_S), topology)
    alerting = Alerting(
        engine, Channel(settings.alert_webhook_url, settings.alert_webhook_format).deliver, settings.env
    )
    pulls = bool(settings.providers.cloudflare_api_token)
    monitor = Monitor(engine, settings.amqp_url, topology, alerting, utc_now(), pulls)
    heart = Heart(engine, "clock", owner)

    def sweep() -> None:
        heart.beat()
        if _acts(engine, owner):
            done = sweeper.sweep()
            if done:
                log.info("swept", extra=done)

    def watch() -> None:
        if not _acts(engine, owner):
            return
        with engine.begin() as connection:
            heartbeats.forget_old(connection)
            single_use.forget_old(connection, utc_now())
        monitor.look(utc_now())

    # Two threads: whatever an alert channel or a broker does to the monitor, the sweeper goes on.
    watcher = threading.Thread(target=_repeat, args=(watch, MONITOR_EVERY_S, stopping), name="monitor", daemon=True)
    watcher.start()
    _repeat(sweep, SWEEP_EVERY_S, stopping)
    watcher.join(CONFIRM_S)
    _leave(engine, owner, heart)
    publisher.close()
    engine.dispose()


def _repeat(work: Callable[[], None], every_s: float, stopping: Stopping) -> None:
    """Do `work` again and again; an outage costs a pass, no more."""
    while not stopping.asked:
        try:
            work()
        except AWAY as error:
            log.warning(
                "pass_failed",
                extra={"work": work.__name__, "error_type": type(error).__name__, "error": str(error)[:500]},
            )
        stopping.sleep(every_s)


def _acts(engine: Engine, owner: str) -> bool:
    with engine.begin() as connection:
        return heartbeats.take_lease(connection, LEASE, owner, LEASE_S)


def _leave(engine: Engine, owner: str, heart: Heart) -> None:
    heart.stop()
    try:
        with engine.begin() as connection:
            heartbeats.release_lease(connection, LEASE, owner)
    except SQLAlchemyError:
        return  # it runs out by itself
