"""An outage is not the fault of a message: the consumer pauses, uses no attempt, and carries on by itself."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.topology import Topology
from dev.services import PostgreSQL, RabbitMQ, RedisServer
from tests.system import System, event, wait_until

ADDRESSES = [f"reader{number}@example.com" for number in range(1, 31)]


@contextmanager
def system_on(environ: dict[str, str], topology: Topology, directory: Path) -> Iterator[System]:
    system = System(environ, topology, directory)
    try:
        yield system
    finally:
        system.close()


@pytest.fixture
def on_own_redis(
    process_environ: dict[str, str], own_redis: RedisServer, topology: Topology, tmp_path: Path
) -> Iterator[System]:
    with system_on(process_environ | {"REDIS_URL": own_redis.url}, topology, tmp_path) as system:
        yield system


@pytest.fixture
def on_own_postgresql(
    process_environ: dict[str, str], own_postgresql: PostgreSQL, topology: Topology, tmp_path: Path
) -> Iterator[System]:
    with system_on(process_environ | {"DATABASE_URL": own_postgresql.url}, topology, tmp_path) as system:
        yield system


@pytest.fixture
def on_own_rabbitmq(
    process_environ: dict[str, str], own_rabbitmq: RabbitMQ, topology: Topology, tmp_path: Path
) -> Iterator[System]:
    with system_on(process_environ | {"AMQP_URL": own_rabbitmq.url}, topology, tmp_path) as system:
        yield system


def assert_no_attempt_was_used(system: System) -> None:
    events = system.topology.events
    lanes = [events.dead_letters, *(events.retry(delay_s) for delay_s in events.delays_s)]
    assert [system.depth(lane) for lane in lanes] == [0] * len(lanes)
    assert '"attempt_failed"' not in system.log()


def test_redis_stopped_pauses_the_consumer_and_uses_no_attempt(on_own_redis: System, own_redis: RedisServer) -> None:
    system = on_own_redis
    system.put(ADDRESSES)
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    own_redis.stop()
    system.publish(event(number) for number in range(1, 31))
    wait_until(lambda: '"outage"' in system.log(), "the outage is noticed")
    time.sleep(4)  # longer than both delays together: an attempt used would have come back by now

    assert_no_attempt_was_used(system)
    own_redis.start()
    wait_until(lambda: system.applied() == 30, "applied")

    assert [system.record(address) for address in ADDRESSES] == [None] * 30
    assert_no_attempt_was_used(system)
    assert system.stop(process) == 0


def test_a_frozen_redis_is_an_outage_too(on_own_redis: System, own_redis: RedisServer) -> None:
    system = on_own_redis
    system.put(ADDRESSES)
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    own_redis.freeze()
    system.publish(event(number) for number in range(1, 31))
    wait_until(lambda: '"outage"' in system.log(), "the outage is noticed")
    own_redis.thaw()
    wait_until(lambda: system.applied() == 30, "applied")

    assert_no_attempt_was_used(system)
    assert system.stop(process) == 0


def test_sigterm_during_an_outage_returns_what_is_held_and_ends_with_status_0(
    on_own_redis: System, own_redis: RedisServer
) -> None:
    system = on_own_redis
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    own_redis.stop()
    system.publish(event(number) for number in range(1, 31))
    wait_until(lambda: '"outage"' in system.log(), "the outage is noticed")

    assert system.stop(process) == 0
    wait_until(lambda: system.depth(system.topology.events.name) == 30, "all back in the queue")
    assert_no_attempt_was_used(system)


def test_postgresql_stopped_pauses_the_consumer_and_uses_no_attempt(
    on_own_postgresql: System, own_postgresql: PostgreSQL
) -> None:
    system = on_own_postgresql
    system.put(ADDRESSES)
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    own_postgresql.stop()
    system.publish(event(number) for number in range(1, 31))
    wait_until(lambda: '"outage"' in system.log(), "the outage is noticed")
    time.sleep(4)

    assert_no_attempt_was_used(system)
    assert [system.record(address) for address in ADDRESSES] == [b"{}"] * 30
    own_postgresql.start()
    wait_until(lambda: system.applied() == 30, "applied")

    assert [system.record(address) for address in ADDRESSES] == [None] * 30
    assert_no_attempt_was_used(system)
    assert system.stop(process) == 0


def test_a_sqlite_file_that_another_process_keeps_locked_is_an_outage(system: System) -> None:
    system.put(ADDRESSES)
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    with system.engine.begin():  # holds the write lock
        system.publish(event(number) for number in range(1, 31))
        wait_until(lambda: '"outage"' in system.log(), "the outage is noticed")
        assert_no_attempt_was_used(system)
    wait_until(lambda: system.applied() == 30, "applied")

    assert system.stop(process) == 0


def test_a_consumer_started_while_redis_is_away_takes_nothing_until_it_is_back(
    on_own_redis: System, own_redis: RedisServer
) -> None:
    system = on_own_redis
    own_redis.stop()
    system.publish([event(1)])
    process = system.start()
    wait_until(lambda: '"store_away"' in system.log(), "noticed")

    assert system.depth(system.topology.events.name) == 1
    own_redis.start()
    wait_until(lambda: system.applied() == 1, "applied")
    assert system.stop(process) == 0


def test_rabbitmq_restarted_under_the_consumer_loses_nothing(on_own_rabbitmq: System, own_rabbitmq: RabbitMQ) -> None:
    system = on_own_rabbitmq
    system.put(ADDRESSES)
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    system.publish(event(number) for number in range(1, 16))
    own_rabbitmq.restart()
    system.publish(event(number) for number in range(16, 31))
    wait_until(lambda: system.applied() == 30, "applied", 60)

    assert [system.record(address) for address in ADDRESSES] == [None] * 30
    assert_no_attempt_was_used(system)
    assert system.stop(process) == 0


def test_a_connection_that_the_broker_closes_while_work_is_in_hand_costs_no_attempt(
    on_own_rabbitmq: System, own_rabbitmq: RabbitMQ, own_redis: RedisServer
) -> None:
    system = on_own_rabbitmq
    system.environ["REDIS_URL"] = own_redis.url
    system.put(ADDRESSES)
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    own_redis.stop()
    system.publish(event(number) for number in range(1, 31))
    wait_until(lambda: '"outage"' in system.log(), "the work is in hand and cannot be done")

    own_rabbitmq.ctl("close_all_connections", "no heartbeat for too long")
    wait_until(lambda: '"reconnecting"' in system.log(), "noticed")
    own_redis.start()
    wait_until(lambda: system.applied() == 30, "applied", 60)

    assert [system.record(address) for address in ADDRESSES] == [None] * 30
    assert_no_attempt_was_used(system)
    assert system.outcomes() == {"removed": 30}
    assert system.stop(process) == 0


def test_a_consumer_started_before_a_frozen_broker_works_once_it_thaws(
    on_own_rabbitmq: System, own_rabbitmq: RabbitMQ
) -> None:
    system = on_own_rabbitmq
    system.put(ADDRESSES[:1])
    system.publish([event(1)])
    own_rabbitmq.freeze()
    process = system.start()
    wait_until(lambda: '"reconnecting"' in system.log(), "noticed")
    own_rabbitmq.thaw()
    wait_until(lambda: system.applied() == 1, "applied", 60)

    assert system.stop(process) == 0


def test_a_consumer_whose_queue_is_deleted_notices_and_declares_it_again(system: System) -> None:
    process = system.start()
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    with system.channel() as channel:
        channel.queue_delete(system.topology.events.name)
    wait_until(lambda: system.log().count('"consuming"') == 2, "consuming again")
    system.publish([event(1)])
    wait_until(lambda: system.applied() == 1, "applied")

    assert system.stop(process) == 0


def test_a_store_that_refuses_everything_is_an_outage_from_the_fiftieth_refusal_on(
    on_own_redis: System, own_redis: RedisServer
) -> None:
    system = on_own_redis
    count = 80
    system.put([f"reader{number}@example.com" for number in range(count)])
    process = system.start(BATCH_SIZE="200")
    wait_until(lambda: '"consuming"' in system.log(), "consuming")
    system.redis.replicaof("127.0.0.1", "1")  # type: ignore[no-untyped-call]  # read-only, answers, refuses writes
    system.publish(event(number) for number in range(count))
    wait_until(lambda: '"outage"' in system.log(), "taken for an outage")

    assert system.log().count('"attempt_failed"') < 50
    system.redis.replicaof("NO", "ONE")  # type: ignore[no-untyped-call]
    wait_until(lambda: system.applied() == count, "applied", 60)
    assert system.depth(system.topology.events.dead_letters) == 0
    assert system.stop(process) == 0
