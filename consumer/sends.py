"""The `sends` process: loops with a connection of their own to the broker each; a few more than calls made at once, so
that the next call is being prepared while all others are under way."""

import threading
from functools import partial

from config.settings import Settings
from consumer.intake import Intake
from consumer.loop import Loop
from consumer.stopping import Stopping
from consumer.successors import Successors
from core import database
from core.clock import utc_now
from core.heartbeats import Heart, instance
from core.ledger.identity import LedgerKey
from core.publisher import Publisher
from core.recipients import RecipientStore, connect
from core.topology import Topology, queue_prefix
from sender.clients.base import Client
from sender.clients.resend import Resend
from sender.look import Looker
from sender.rate import SharedRate
from sender.send_batch import SendWork, Tools
from sender.slots import Slots


def client_of(settings: Settings) -> Client:
    """The send API that the settings name."""
    return Resend(settings.resend_api_key, settings.resend_api_url, pool_size=settings.send_concurrency)


def loops_for(concurrency: int) -> int:
    """How many loops keep `concurrency` calls under way: preparing and settling one takes a fraction of its call."""
    return concurrency + -(-concurrency // 4)


def run_sends(settings: Settings, stopping: Stopping) -> None:
    """Consume `campaign-batches` until a stop is asked for."""
    topology = Topology(queue_prefix(settings.env), settings.retry_delays_s)
    queue = topology.batches
    loops = loops_for(settings.send_concurrency)
    slots = Slots(settings.send_concurrency, lambda: stopping.asked)
    engine = database.create(settings.database_url, settings.database_schema, busy_timeout_s=10, connections=loops + 1)
    publisher = Publisher(settings.amqp_url, connection_name=f"mailward retries {queue.name}")
    client, redis_client = client_of(settings), connect(settings)
    secret = settings.unsubscribe_secrets[0] if settings.unsubscribe_secrets else ""

    def work(number: int) -> SendWork:
        store = RecipientStore(redis_client, settings.recipient_key)
        return SendWork(
            Tools(
                engine=engine,
                looker=Looker(store, client, settings.env, secret),
                client=client,
                rate=SharedRate(redis_client, settings.env, client.account, settings.send_rate),
                slots=slots,
                ledger_key=LedgerKey(redis_client, settings.env),
                env=settings.env,
                owner=f"{instance()}:{number}",
                sleep=stopping.sleep,
            )
        )

    open_intake = partial(Intake, settings.amqp_url, topology, queue, 1, 1)
    successors = Successors(publisher, topology, queue, engine, utc_now)
    heart = Heart(engine, "sends", instance())
    threads = [
        threading.Thread(
            target=Loop(open_intake, work(number), successors, stopping, beat=heart.beat).run, name=f"sends-{number}"
        )
        for number in range(loops)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heart.stop()
    publisher.close()
    engine.dispose()
