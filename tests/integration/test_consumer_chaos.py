"""`kill -9` of the consumer at random instants: each accepted event is applied or a dead letter; applied means gone."""

import random
import threading
import time

from tests.system import System, event, wait_until

KILLS = 20


def test_twenty_kills_under_a_stream_of_removing_events_lose_nothing(system: System) -> None:
    seed = random.randrange(1_000_000)
    chance = random.Random(seed)
    sent: list[int] = []
    done = threading.Event()

    def stream() -> None:
        number = 0
        while not done.is_set():
            numbers = range(number, number + chance.choice((1, 20, 300)))
            system.put([f"reader{one}@example.com" for one in numbers])
            system.publish(event(one) for one in numbers)
            sent.extend(numbers)
            number = numbers.stop

    streaming = threading.Thread(target=stream)
    streaming.start()
    try:
        for _ in range(KILLS):
            consumer = system.start(BATCH_SIZE="50")
            time.sleep(0.9 + chance.random())  # long enough to be consuming, and then any instant
            consumer.kill()
            assert consumer.wait() == -9
    finally:
        done.set()
        streaming.join()
    consumer = system.start()
    wait_until(lambda: system.applied() + len_of_letters(system) >= len(sent), f"all handled (seed {seed})", 60)

    assert system.stop(consumer) == 0
    letters = {properties.message_id for properties, _ in system.letters()}
    applied = {row.event_id for row in system.rows("SELECT event_id FROM journal WHERE applied_at IS NOT NULL")}
    assert {f"resend:msg_{one}" for one in sent} == applied | letters
    left = [one for one in sent if system.record(f"reader{one}@example.com") is not None]
    assert [one for one in left if f"resend:msg_{one}" in applied] == []
    assert len(sent) > 1000


def len_of_letters(system: System) -> int:
    return system.depth(system.topology.events.dead_letters)
