"""How long the loop holds messages while work on them fails, though the stores answer its probe (a full disk does)."""

from collections.abc import Sequence
from threading import Thread
from typing import cast

from pika.adapters.blocking_connection import BlockingChannel

from consumer.intake import Intake
from consumer.loop import Loop
from consumer.stopping import Stopping
from consumer.successors import Successors
from core.errors import Outage
from core.topology import Topology
from dev.services import RabbitMQ
from tests.system import wait_until


class OnAFullDisk:
    """Work for which there is no room; looking is still possible."""

    def decode(self, body: bytes) -> bytes:
        return body

    def apply(self, items: Sequence[bytes]) -> dict[str, int]:
        raise Outage("disk_full")

    def probe(self) -> None:
        return

    def subject(self, item: bytes) -> tuple[str, str]:
        return "", ""


class Watched(Intake):
    """An intake that notes how many messages each return to the queue gave back."""

    given_back: list[int]

    def give_back(self) -> None:
        self.given_back.append(len(self._outstanding))
        super().give_back()


def test_what_is_held_is_returned_in_time_even_if_the_stores_answer_the_probe(
    rabbitmq: RabbitMQ, topology: Topology, channel: BlockingChannel
) -> None:
    given_back: list[int] = []

    def open_intake() -> Intake:
        intake = Watched(rabbitmq.url, topology, topology.events, batch_size=10)
        intake.given_back = given_back
        return intake

    stopping = Stopping()
    nothing_follows = cast(Successors, None)  # an outage costs no attempt
    loop = Loop(open_intake, OnAFullDisk(), nothing_follows, stopping, hold_s=1.0)
    channel.basic_publish(topology.work_exchange, topology.events.name, b"body", mandatory=True)
    running = Thread(target=loop.run)
    running.start()
    try:
        wait_until(lambda: 1 in given_back, "the message is given back", timeout_s=8)
    finally:
        stopping.ask()
        running.join()
