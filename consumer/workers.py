"""The wiring table: which word on the command line runs which loop. The composition root of the consumer processes."""

import importlib
import threading
from collections.abc import Callable, Mapping

from config.settings import Settings
from consumer.apply_events import EventWork
from consumer.intake import Intake
from consumer.loop import Loop
from consumer.stopping import Stopping
from consumer.successors import Successors
from core import database
from core.clock import utc_now
from core.heartbeats import Heart, instance
from core.publisher import Publisher
from core.recipients import RecipientStore, connect
from core.topology import Topology, queue_prefix

Run = Callable[[Settings, Stopping], None]


def run_events(settings: Settings, stopping: Stopping) -> None:
    """Consume `email-events` until a stop is asked for."""
    topology = Topology(queue_prefix(settings.env), settings.retry_delays_s)
    queue = topology.events
    engine = database.create(settings.database_url, settings.database_schema)
    publisher = Publisher(settings.amqp_url, connection_name=f"mailward retries {queue.name}")
    work = EventWork(RecipientStore(connect(settings), settings.recipient_key), engine, utc_now, settings.env)
    heart = Heart(engine, "events", instance())
    loop = Loop(
        lambda: Intake(settings.amqp_url, topology, queue, settings.batch_size),
        work,
        Successors(publisher, topology, queue, engine, utc_now),
        stopping,
        beat=heart.beat,
    )
    loop.run()
    heart.stop()
    publisher.close()
    engine.dispose()


def run_all(settings: Settings, stopping: Stopping) -> None:
    """All of them in one process, for small plans."""
    threads = [threading.Thread(target=run, args=(settings, stopping), name=word) for word, run in PROCESSES.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _when_asked(module: str, name: str) -> Run:
    """The function `name` of `module`, imported when it runs: no process carries what only its siblings need."""

    def run(settings: Settings, stopping: Stopping) -> None:
        getattr(importlib.import_module(module), name)(settings, stopping)

    return run


PROCESSES: Mapping[str, Run] = {
    "events": run_events,
    "sends": _when_asked("consumer.sends", "run_sends"),
    "clock": _when_asked("consumer.clock", "run_clock"),
    "cloudflare": _when_asked("consumer.cloudflare", "run_cloudflare"),
}
WORKERS: Mapping[str, Run] = {**PROCESSES, "all": run_all}


def consumed_queues(topology: Topology) -> dict[str, str]:
    """Work queue → the word that consumes it, for the test that no queue is left without a process."""
    return {topology.events.name: "events", topology.batches.name: "sends"}
