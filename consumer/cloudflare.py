"""The `cloudflare` process: pulls the events of Cloudflare Email Service out of their queue."""

import logging

from config.settings import Settings
from consumer.pulled import Reader
from consumer.pulling import Pulling
from consumer.stopping import Stopping
from core import database
from core.clock import utc_now
from core.flusher import Flusher
from core.heartbeats import Heart, instance
from core.publisher import Publisher
from core.telemetry import Counters
from core.topology import Topology, queue_prefix
from providers import cloudflare_queue, cloudflare_reading
from providers.cloudflare_queue import CloudflareQueue

log = logging.getLogger(__name__)

PROCESS = "cloudflare"
NEEDED = "CLOUDFLARE_API_TOKEN, CLOUDFLARE_QUEUE_ID and CLOUDFLARE_ACCOUNT_ID"


def run_cloudflare(settings: Settings, stopping: Stopping) -> None:
    """Pull until a stop is asked for; without a queue in the settings, only wait for that."""
    queue = cloudflare_queue.configured(settings)
    if queue is not None:
        _pull(settings, stopping, queue)
        return
    log.info("not_configured", extra={"text": f"nothing to pull: {NEEDED} are not set"})
    # A process of a Procfile that ends by itself takes all others down with it.
    while not stopping.asked:
        stopping.sleep(3600)


def _pull(settings: Settings, stopping: Stopping, queue: CloudflareQueue) -> None:
    topology = Topology(queue_prefix(settings.env), settings.retry_delays_s)
    engine = database.create(settings.database_url, settings.database_schema)
    publisher = Publisher(settings.amqp_url, connection_name="mailward cloudflare")
    counters = Counters()
    flusher = Flusher(counters, engine, utc_now)
    flusher.start()
    heart = Heart(engine, PROCESS, instance())
    reader = Reader(cloudflare_reading.configured(settings), topology)
    Pulling(queue, reader, publisher, topology.events, counters, stopping, utc_now, heart.beat).run()
    queue.close()
    publisher.close()
    flusher.flush()
    heart.stop()
    engine.dispose()
