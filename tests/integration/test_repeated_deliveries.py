"""A provider that delivers one event again and again, to consumers that work side by side."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from werkzeug.test import Client

from core.events import Kind
from dev.services import RabbitMQ, RedisServer
from tests.forked import running
from tests.system import event, wait_until
from tests.unit.providers.security_cases import SENT_AT
from tests.whole_path import WholePath, opened

READER = "reader1@example.com"
TIMES, CONSUMERS = 46, 3


@pytest.fixture
def path(rabbitmq: RabbitMQ, redis_server: RedisServer, tmp_path: Path) -> Iterator[WholePath]:
    with opened(rabbitmq, redis_server, tmp_path) as one:
        yield one


def test_one_event_46_times_over_three_consumers_removes_once_and_spares_who_signed_up_in_between(
    path: WholePath,
) -> None:
    system, sendgrid = path.system, path.providers["sendgrid"]
    post = sendgrid.sign(sendgrid.sample(Kind.COMPLAINT, READER, "mail-1", SENT_AT), "msg_1", SENT_AT)
    system.put([READER], b"the first record")
    took_s: list[float] = []

    def deliver(times: int) -> None:
        door = Client(path.door.application)
        for _ in range(times):
            began = time.monotonic()
            answer = door.post("/webhooks/sendgrid", data=post.body, headers=dict(post.headers))
            assert answer.status_code == 200
            took_s.append(time.monotonic() - began)

    with ExitStack() as consumers:
        for _ in range(CONSUMERS):
            consumers.enter_context(running("events", system.environ))
        wait_until(lambda: consumer_count(path) == CONSUMERS, "all consume")
        deliver(1)
        wait_until(lambda: system.outcomes() == {"removed": 1}, "removed")
        system.put([READER], b"signed up again")
        threads = [threading.Thread(target=deliver, args=((TIMES - 1) // 3,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_until(lambda: sum(system.outcomes().values()) == TIMES, "all are handled")

    assert system.outcomes() == {"removed": 1, "duplicate": TIMES - 1}
    assert system.record(READER) == b"signed up again"
    assert len(system.rows("SELECT 1 FROM journal")) == 1
    assert (len(took_s), max(took_s) < 3) == (TIMES, True)


def consumer_count(path: WholePath) -> int:
    with path.system.channel() as channel:
        return int(channel.queue_declare(path.system.topology.events.name, passive=True).method.consumer_count)


@pytest.mark.parametrize("later", [timedelta(hours=72), timedelta(days=400)])
def test_a_repeat_is_known_however_late_it_comes(path: WholePath, later: timedelta) -> None:
    path.system.put([READER])
    assert path.apply(event(1)) == {"removed": 1}
    path.system.put([READER], b"signed up again")

    path.now += later
    assert path.apply(event(1)) == {"duplicate": 1}
    assert path.left(READER) == [READER]
