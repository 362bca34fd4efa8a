"""From a failure to its cure: three attempts, the dead letter, the operator's look, the repair, the replay."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis

from dev.services import RedisServer
from tests.e2e.deployment import Deployment
from tests.e2e.posts import Door, resend, resend_bounce, signed
from tests.system import wait_until

STUCK = "stuck@example.com"
READERS = [f"reader{number}@example.com" for number in range(6)]
RECORD = b'{"name": "made up",\t"odd": "\xff\x00"}\r\n'  # no UTF-8, no JSON: restored byte for byte all the same


READ_ONLY = "-@write"
REFUSED = re.compile("can't access at least one of the keys|NOPERM|ermission")  # Redis 7.0, then newer ones


@pytest.fixture
def refusing(deployment: Deployment, own_redis: RedisServer) -> Deployment:
    """A deployment on a store of its own, as a user who may read everything and write everything but one key."""
    system = deployment.system
    system.environ["REDIS_URL"] = own_redis.url
    system.put([STUCK], RECORD)
    system.put(READERS)
    allow(own_redis, READ_ONLY, "~*", f"(+@all ~{system.key('reader*')})")
    system.environ["REDIS_URL"] = own_redis.url.replace("://", "://app:secret@")
    deployment.release()
    return deployment


def allow(server: RedisServer, *rules: str) -> None:
    """Set what the application's user may do."""
    with redis.Redis.from_url(server.url) as client:
        client.execute_command("ACL", "SETUSER", "app", "reset", "on", ">secret", "+@all", *rules)


def complain(door: Door, address: str, message_id: str) -> None:
    body = json.dumps(resend("complained", [address])).encode()
    assert door.post("resend", body, signed("resend", body, message_id)).accepted == 1


def copy_of_the_letter(deployment: Deployment) -> Callable[[], None]:
    """Remember the first dead letter, which stays; the result puts a copy of it into the queue."""
    queue = deployment.system.topology.events.dead_letters
    with deployment.system.channel() as channel:
        method, properties, body = channel.basic_get(queue)
        channel.basic_nack(method.delivery_tag, requeue=True)

    def put_back() -> None:
        with deployment.system.channel() as channel:
            channel.basic_publish("", queue, body, properties, mandatory=True)

    return put_back


def attempts(deployment: Deployment) -> list[int]:
    """The attempts that failed, as the consumer's log tells them."""
    lines = (line for line in deployment.log_lines("events") if line["event"] in {"attempt_failed", "dead_letter"})
    return [line["attempt"] for line in lines]


def test_a_refused_write_is_a_dead_letter_after_three_attempts_and_removed_by_a_replay_once_the_cause_is_mended(
    refusing: Deployment, own_redis: RedisServer
) -> None:
    system, door = refusing.system, refusing.start_web()
    refusing.start_consumer()
    for number, address in enumerate([*READERS[:3], STUCK, *READERS[3:]]):
        complain(door, address, f"msg_{number}")
    wait_until(lambda: refusing.dead() == 1, "a dead letter")
    wait_until(lambda: system.applied() == len(READERS), "the neighbours are removed")

    assert attempts(refusing) == [1, 2, 3]
    assert system.record(STUCK) == RECORD
    assert {system.record(address) for address in READERS} == {None}
    listed, shown = refusing.mailward("dlq", "list"), refusing.mailward("dlq", "show", "resend:msg_3")
    assert REFUSED.search(listed)
    assert REFUSED.search(shown)
    assert "Traceback" in shown
    assert "resend.complained" in shown
    assert refusing.dead() == 1

    put_back = copy_of_the_letter(refusing)
    allow(own_redis, "~*")
    assert refusing.mailward("dlq", "replay", "--all", "--yes") == "replayed 1 of 1 letter\n"
    wait_until(lambda: system.record(STUCK) is None, "removed")
    wait_until(lambda: system.outcomes() == {"removed": len(READERS) + 1}, "counted")

    journal = system.rows("SELECT * FROM journal ORDER BY event_id")
    system.put([STUCK], b"has signed up again")
    put_back()
    assert refusing.mailward("dlq", "replay", "--all", "--yes") == "replayed 1 of 1 letter\n"
    wait_until(lambda: system.outcomes().get("duplicate") == 1, "the second replay is a duplicate")

    assert system.record(STUCK) == b"has signed up again"
    assert system.rows("SELECT * FROM journal ORDER BY event_id") == journal
    assert refusing.dead() == 0
    assert attempts(refusing) == [1, 2, 3]


def test_why_tells_the_event_and_the_rule_and_restore_puts_the_record_back_byte_for_byte(
    deployment: Deployment,
) -> None:
    system = deployment.system
    deployment.release()
    system.put([STUCK], RECORD)
    door = deployment.start_web()
    deployment.start_consumer()
    body = json.dumps(resend_bounce([f"Made Up <{STUCK.upper()}>"], diagnosticCode=["smtp; 550 5.1.1 gone"])).encode()
    assert door.post("resend", body, signed("resend", body, "msg_hard")).accepted == 1
    wait_until(lambda: system.outcomes() == {"removed": 1}, "removed")

    told = deployment.mailward("recipients", "why", STUCK)
    assert "resend:msg_hard" in told
    assert "resend.permanent_no_mailbox" in told
    assert "550 5.1.1 gone" in told
    assert system.record(STUCK) is None
    deployment.mailward("recipients", "restore", STUCK)

    assert system.record(STUCK) == RECORD
    assert door.post("resend", body, signed("resend", body, "msg_hard")).accepted == 1
    assert door.post("resend", body, signed("resend", body, "msg_hard_again")).accepted == 1
    wait_until(lambda: sum(system.outcomes().values()) == 3, "both repeats are handled")
    assert system.outcomes() == {"removed": 1, "duplicate": 1, "stale": 1}
    assert system.record(STUCK) == RECORD


def test_a_replay_ends_by_itself_while_every_letter_dies_again_and_new_ones_keep_arriving(
    deployment: Deployment,
) -> None:
    deployment.release()
    deployment.start_consumer()
    deployment.system.publish([b"no message of ours"] * 300)
    wait_until(lambda: deployment.dead() == 300, "300 dead letters")

    with new_dead_letters(deployment):
        told = deployment.mailward("dlq", "replay", "--all", "--yes", "--force")

    replayed, looked_at = map(int, re.findall(r"\d+", told)[:2])
    assert 300 <= replayed <= looked_at
    wait_until(lambda: deployment.waiting() == 0, "the consumer has seen them all")
    wait_until(lambda: deployment.dead() >= looked_at, "nothing is lost")


@contextmanager
def new_dead_letters(deployment: Deployment) -> Iterator[None]:
    """Messages that die at once, all the time."""
    ending = threading.Event()

    def publish() -> None:
        while not ending.is_set():
            deployment.system.publish([b"another one"] * 5)

    thread = threading.Thread(target=publish)
    thread.start()
    yield
    ending.set()
    thread.join()
