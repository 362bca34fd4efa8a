"""Names and arguments of the broker: what they are in each environment, and that every lane leads somewhere."""

import re
from collections import Counter
from itertools import product
from typing import Any

import pytest

from core.topology import CRASH_LIMIT, NO_LIMIT, Topology, declare, queue_names, queue_prefix

PRODUCTION = Topology()


class Broker:
    """Remembers what is declared and bound; routes as direct exchanges do."""

    def __init__(self, topology: Topology) -> None:
        self.exchanges: list[str] = []
        self.queues: dict[str, dict[str, Any]] = {}
        self.bindings: dict[tuple[str, str], list[str]] = {}
        declare(self, topology)

    def exchange_declare(self, exchange: str, exchange_type: str, *, durable: bool) -> None:
        assert (exchange_type, durable) == ("direct", True)
        self.exchanges.append(exchange)

    def queue_declare(self, queue: str, *, durable: bool, arguments: dict[str, Any]) -> None:
        assert durable
        self.queues[queue] = arguments

    def queue_bind(self, queue: str, exchange: str, routing_key: str) -> None:
        assert queue in self.queues
        assert exchange in self.exchanges
        self.bindings.setdefault((exchange, routing_key), []).append(queue)

    def dead_letters_of(self, queue: str) -> list[str]:
        """Where the broker puts a message that `queue` gives up."""
        arguments = self.queues[queue]
        return self.bindings[arguments["x-dead-letter-exchange"], arguments["x-dead-letter-routing-key"]]


@pytest.fixture(params=[PRODUCTION, Topology("staging.", (1, 20))], ids=["production", "staging"])
def topology(request: pytest.FixtureRequest) -> Topology:
    one: Topology = request.param
    return one


@pytest.fixture
def broker(topology: Topology) -> Broker:
    return Broker(topology)


def test_production_has_the_names_of_the_mission() -> None:
    assert queue_names(PRODUCTION) == [
        "email-events",
        "email-events.retry.10s",
        "email-events.retry.60s",
        "email-events-dlq",
        "email-events-parked",
        "campaign-batches",
        "campaign-batches.retry.10s",
        "campaign-batches.retry.60s",
        "campaign-batches-dlq",
    ]


@pytest.mark.parametrize(
    ("env", "prefix"), [("production", ""), ("staging", "staging."), ("development", "development."), ("prod", "prod.")]
)
def test_only_production_has_no_prefix(env: str, prefix: str) -> None:
    assert queue_prefix(env) == prefix


def test_every_name_outside_production_carries_the_prefix() -> None:
    broker = Broker(Topology("staging."))
    names = {*broker.exchanges, *broker.queues, *(key for _, key in broker.bindings)}

    assert [name for name in names if not name.startswith("staging.")] == []


def test_two_environments_share_nothing() -> None:
    one, other = Broker(Topology("staging.")), Broker(Topology("test."))

    assert set(one.queues).isdisjoint(other.queues)
    assert set(one.exchanges).isdisjoint(other.exchanges)


def test_queue_names_lists_exactly_what_is_declared(broker: Broker, topology: Topology) -> None:
    assert queue_names(topology) == list(broker.queues)


def test_every_queue_is_bound_once_and_no_key_reaches_two(broker: Broker) -> None:
    bound = Counter(queue for queues in broker.bindings.values() for queue in queues)

    assert bound == Counter(list(broker.queues))
    assert all(len(queues) == 1 for queues in broker.bindings.values())


def test_what_the_work_queue_gives_up_becomes_a_dead_letter(broker: Broker, topology: Topology) -> None:
    for work in topology.work_queues:
        assert broker.dead_letters_of(work.name) == [work.dead_letters]


def test_what_a_delay_queue_gives_up_returns_to_the_work_queue(broker: Broker, topology: Topology) -> None:
    for work, delay_s in product(topology.work_queues, topology.delays_s):
        delay_queue = work.retry(delay_s)
        assert broker.bindings[topology.retry_exchange, delay_queue] == [delay_queue]
        assert broker.dead_letters_of(delay_queue) == [work.name]
        assert broker.queues[delay_queue]["x-message-ttl"] == delay_s * 1000


def test_dead_and_parked_letters_stay_until_somebody_takes_them(broker: Broker, topology: Topology) -> None:
    for queue in (topology.events.dead_letters, topology.events.parked, topology.batches.dead_letters):
        assert broker.queues[queue] == {
            "x-queue-type": "quorum",
            "x-delivery-limit": NO_LIMIT,
            "x-overflow": "reject-publish",
        }


def test_every_queue_is_a_quorum_queue_that_rejects_and_has_a_positive_delivery_limit(broker: Broker) -> None:
    for arguments in broker.queues.values():
        assert (arguments["x-queue-type"], arguments["x-overflow"]) == ("quorum", "reject-publish")
        assert arguments["x-delivery-limit"] > 0


def test_every_dead_lettering_is_at_least_once(broker: Broker) -> None:
    giving = [arguments for arguments in broker.queues.values() if "x-dead-letter-exchange" in arguments]

    assert [arguments["x-dead-letter-strategy"] for arguments in giving] == ["at-least-once"] * 6


def test_a_message_that_kills_its_consumer_is_taken_away_after_twenty_deliveries(
    broker: Broker, topology: Topology
) -> None:
    for work in topology.work_queues:
        assert broker.queues[work.name]["x-delivery-limit"] == CRASH_LIMIT == 20


def test_other_delays_are_other_queues_since_declared_arguments_can_never_change() -> None:
    first, second = Broker(Topology(delays_s=(10, 60))), Broker(Topology(delays_s=(20, 60)))

    shared = first.queues.keys() & second.queues.keys()
    assert {name: first.queues[name] for name in shared} == {name: second.queues[name] for name in shared}
    assert all(re.search(r"\.retry\.\d+s$", name) for name in first.queues.keys() ^ second.queues.keys())
