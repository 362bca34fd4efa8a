"""`python -m bench.stalling_sends MODE`: the `sends` process, which at times stalls until the broker loses patience.

The stall comes once for each chosen batch, after the provider has accepted it and before the ack. Modes: `unsettled`,
the ledger has not heard of the answer yet; `settled`, it has; `no_ledger`, there is nobody to ask: a consumer that does
what most do, and sends whatever batch it is handed.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Engine, select

from config.settings import Settings, load
from consumer import sends
from consumer.intake import Delivery, Intake
from consumer.loop import Loop
from consumer.stopping import Stopping
from consumer.successors import Successors
from core import batch_message, database, telemetry
from core.batch_message import BatchMessage
from core.clock import utc_now
from core.ledger import campaigns
from core.ledger.tables import send_call
from core.publisher import Publisher
from core.recipients import RecipientStore, connect
from core.topology import Topology, queue_prefix
from sender.clients.base import Answer
from sender.clients.resend import Resend
from sender.look import Looker

STALL_S = 4.0
ONE_IN = 3
REDELIVERED = "batch_redelivered"
UNSETTLED, SETTLED, NO_LEDGER = MODES = ("unsettled", "settled", "no_ledger")

log = logging.getLogger(__name__)


def stalls(call_id: int) -> bool:
    """Whether the batch of this call meets a stall."""
    return call_id % ONE_IN == 0


class Redelivered(Intake):
    """Says so when the broker hands out a batch again."""

    def take(self, wait_s: float) -> list[Delivery]:
        taken = super().take(wait_s)
        for one in taken:
            if one.redelivered:
                log.info(REDELIVERED, extra={"message_id": one.message_id})
        return taken


class LateAck(Redelivered):
    """Stalls before an ack."""

    def ack(self, deliveries: Iterable[Delivery]) -> None:
        held = list(deliveries)
        if any(stalls(batch_message.decode(one.body).call_id) and not one.redelivered for one in held):
            time.sleep(STALL_S)
        super().ack(held)


class LateAnswer(Resend):
    """Stalls with the provider's answer in hand, at the first call under a key."""

    def call(self, body: bytes, idempotency_key: str) -> Answer:
        answer = super().call(body, idempotency_key)
        if stalls(int(idempotency_key.rpartition(".")[2])) and self._is_new(idempotency_key):
            time.sleep(STALL_S)
        return answer

    def _is_new(self, key: str) -> bool:
        seen: set[str] = self.__dict__.setdefault("seen", set())
        known = key in seen
        seen.add(key)
        return not known


@dataclass(frozen=True, slots=True)
class WithoutLedger:
    """Sends the batch of every message it gets."""

    engine: Engine
    looker: Looker
    client: Resend

    def decode(self, body: bytes) -> BatchMessage:
        return batch_message.decode(body)

    def subject(self, item: BatchMessage) -> tuple[str, str]:
        return item.campaign_id, ""

    def probe(self) -> None:
        """There is nothing it would wait for."""

    def apply(self, items: Sequence[BatchMessage]) -> dict[str, int]:
        for item in items:
            with database.reading(self.engine) as connection:
                call = connection.execute(select(send_call).where(send_call.c.id == item.call_id)).one()
                look = self.looker.look(connection, campaigns.find(connection, item.campaign_id), call)
            body = self.client.body([one.body for one in look.fragments])
            self.client.call(body, f"bench.{item.campaign_id}.{item.call_id}")
        return {"sent": len(items)}


def late_client(settings: Settings, *_: Any) -> LateAnswer:
    """The client of these settings, which stalls."""
    return LateAnswer(settings.resend_api_key, settings.resend_api_url)


def run_without_ledger(settings: Settings, stopping: Stopping) -> None:
    """As consumer.sends.run_sends, with other work in the same loop."""
    topology = Topology(queue_prefix(settings.env), settings.retry_delays_s)
    engine = database.create(settings.database_url)
    publisher = Publisher(settings.amqp_url, connection_name="bench")
    client, store = late_client(settings), RecipientStore(connect(settings), settings.recipient_key)
    open_intake = partial(Redelivered, settings.amqp_url, topology, topology.batches, 1, 1)
    successors = Successors(publisher, topology, topology.batches, engine, utc_now)
    works = [
        WithoutLedger(engine, Looker(store, client, settings.env, ""), client) for _ in range(settings.send_concurrency)
    ]
    threads = [threading.Thread(target=Loop(open_intake, work, successors, stopping).run) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(mode: str) -> None:
    """Run until SIGTERM."""
    settings, stopping = load(os.environ), Stopping()
    telemetry.configure("sends", settings.log_level)
    stopping.listen()
    if mode == NO_LEDGER:
        run_without_ledger(settings, stopping)
        return
    # The product's own process but for these two parts.
    vars(sends)["Intake"] = LateAck if mode == SETTLED else Redelivered
    if mode == UNSETTLED:
        vars(sends)["client_of"] = late_client
    sends.run_sends(settings, stopping)


if __name__ == "__main__":
    main(sys.argv[1])
