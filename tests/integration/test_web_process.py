"""The web process with its real server: HTTP, forks, signals, and a broker that goes away."""

import base64
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from pika.adapters.blocking_connection import BlockingChannel

from core import wire
from core.topology import Topology
from dev.services import RabbitMQ, RedisServer
from tests.integration.web_process import SECRET, WebProcess, serving, signed
from tests.system import ROOT, wait_until

MIB = 1024 * 1024


@pytest.fixture
def web(process_environ: dict[str, str], channel: BlockingChannel, tmp_path: Path) -> Iterator[WebProcess]:
    with serving(process_environ | {"WEB_CONCURRENCY": "1"}, tmp_path) as one:
        yield one


@pytest.fixture
def own_web(
    process_environ: dict[str, str], own_rabbitmq: RabbitMQ, own_channel: BlockingChannel, tmp_path: Path
) -> Iterator[WebProcess]:
    """On the broker that the test may stop and freeze."""
    environ = process_environ | {"AMQP_URL": own_rabbitmq.url, "WEB_CONCURRENCY": "1"}
    with serving(environ, tmp_path) as one:
        yield one


def depth(channel: BlockingChannel, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def queued(channel: BlockingChannel, topology: Topology) -> list[str]:
    """Take everything off the work queue: the recipients."""
    found: list[str] = []
    while True:
        method, _, body = channel.basic_get(topology.events.name, auto_ack=True)
        if method is None:
            return found
        found.append(wire.decode(body).recipient)


def raw(web: WebProcess, *pieces: bytes) -> int:
    """Send `pieces` over one connection; the answer's status. The server may hang up before the last piece."""
    with socket.create_connection((urlsplit(web.url).hostname, urlsplit(web.url).port), timeout=10) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass  # refused while we were sending: the answer is there all the same
        return int(connection.recv(4096).split()[1])


def head(headers: dict[str, str]) -> bytes:
    lines = ["POST /webhooks/resend HTTP/1.1", "host: x", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def test_a_signed_post_is_200_and_in_the_queue(web: WebProcess, channel: BlockingChannel, topology: Topology) -> None:
    answer = web.post(1)

    assert (answer.status_code, answer.json()) == (200, {"queued": 1, "parked": 0, "counted": 0})
    assert queued(channel, topology) == ["reader1@example.com"]


def test_a_chunked_post_is_read_to_its_end(web: WebProcess, channel: BlockingChannel, topology: Topology) -> None:
    body, headers = signed(1)
    url = f"{web.url}/webhooks/resend"

    answer = requests.post(url, data=iter([body[:10], body[10:]]), headers=headers, timeout=10)

    assert answer.status_code == 200
    assert queued(channel, topology) == ["reader1@example.com"]


def test_413_before_a_byte_of_a_body_that_says_it_is_too_long(
    web: WebProcess, channel: BlockingChannel, topology: Topology
) -> None:
    _, headers = signed(1)

    assert raw(web, head(headers | {"content-length": str(2 * MIB + 1)})) == 413

    assert depth(channel, topology.events.name) == 0


def test_413_for_a_chunked_body_once_it_is_over_the_limit(
    web: WebProcess, channel: BlockingChannel, topology: Topology
) -> None:
    _, headers = signed(1)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"  # and no end: whoever reads on waits for ever

    answer = raw(web, head(headers | {"transfer-encoding": "chunked"}), *[chunk] * 33)

    assert answer == 413
    assert depth(channel, topology.events.name) == 0


@pytest.mark.parametrize("value", [b"v1,caf\xe9", b"v1,\xff\xfe", b"v1," + b"A" * 4000])
def test_an_odd_signature_header_is_401(
    web: WebProcess, channel: BlockingChannel, topology: Topology, value: bytes
) -> None:
    body, headers = signed(1)
    start = head(headers | {"content-length": str(len(body)), "svix-signature": "HERE"})

    assert raw(web, start.replace(b"HERE", value) + body) == 401

    assert depth(channel, topology.events.name) == 0


def test_a_body_that_is_cut_off_is_not_accepted(web: WebProcess, channel: BlockingChannel, topology: Topology) -> None:
    body, headers = signed(1)
    with socket.create_connection((urlsplit(web.url).hostname, urlsplit(web.url).port), timeout=10) as connection:
        connection.sendall(head(headers | {"content-length": str(len(body))}) + body[:-1])
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(4096)

    assert not answer.startswith(b"HTTP/1.1 200")
    assert depth(channel, topology.events.name) == 0


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/webhooks/resend", 405), ("POST", "/else", 404)])
def test_everything_else_is_a_small_json_no(
    web: WebProcess, channel: BlockingChannel, topology: Topology, method: str, path: str, status: int
) -> None:
    answer = requests.request(method, f"{web.url}{path}", timeout=5)

    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert depth(channel, topology.events.name) == 0


def test_busy_when_the_queue_is_gone_and_200_when_it_is_back(
    web: WebProcess, channel: BlockingChannel, topology: Topology
) -> None:
    assert web.post(1).status_code == 200
    channel.queue_unbind(topology.events.name, topology.work_exchange, topology.events.name)

    answer = web.post(2)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert queued(channel, topology) == ["reader1@example.com"]
    channel.queue_bind(topology.events.name, topology.work_exchange, topology.events.name)
    assert web.post(3).status_code == 200


def test_a_stopped_broker_is_busy_within_the_deadline_and_200_again_without_a_restart(
    own_web: WebProcess, own_rabbitmq: RabbitMQ, topology: Topology
) -> None:
    assert own_web.post(1).status_code == 200
    time.sleep(2)  # a quorum queue's name is on disk a while after its declaration was answered
    own_rabbitmq.stop()
    started = time.monotonic()

    assert [own_web.post(number).status_code for number in (2, 3)] == [503, 503]

    assert time.monotonic() - started < 5.5
    assert requests.get(f"{own_web.url}/readyz", timeout=5).status_code == 503
    own_rabbitmq.start()
    wait_until(lambda: own_web.post(4).status_code == 200, "200 again", 15)
    assert requests.get(f"{own_web.url}/readyz", timeout=5).status_code == 200


def test_a_frozen_broker_is_busy_within_the_deadline_and_200_again_without_a_restart(
    own_web: WebProcess, own_rabbitmq: RabbitMQ, topology: Topology
) -> None:
    assert own_web.post(1).status_code == 200
    own_rabbitmq.freeze()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(own_web.post, range(2, 22)))

    assert {answer.status_code for answer in answers} == {503}
    assert max(answer.elapsed.total_seconds() for answer in answers) < 6
    assert requests.get(f"{own_web.url}/livez", timeout=1).status_code == 200
    assert requests.get(f"{own_web.url}/readyz", timeout=5).json()["broker"] != "ok"
    own_rabbitmq.thaw()
    wait_until(lambda: own_web.post(30).status_code == 200, "200 again", 15)


def test_a_memory_alarm_is_busy_and_200_again_when_it_clears(own_web: WebProcess, own_rabbitmq: RabbitMQ) -> None:
    assert own_web.post(1).status_code == 200
    own_rabbitmq.ctl("set_vm_memory_high_watermark", "0.00001")
    try:
        wait_until(lambda: own_web.post(2).status_code == 503, "busy", 10)
        started = time.monotonic()
        assert own_web.post(3).status_code == 503
        assert time.monotonic() - started < 1
    finally:
        own_rabbitmq.ctl("set_vm_memory_high_watermark", "absolute", "1GB")
    wait_until(lambda: own_web.post(4).status_code == 200, "200 again", 10)


def test_after_three_idle_heartbeats_the_next_event_arrives_exactly_once(
    process_environ: dict[str, str], channel: BlockingChannel, topology: Topology, tmp_path: Path
) -> None:
    environ = process_environ | {"AMQP_URL": f"{process_environ['AMQP_URL']}?heartbeat=2", "WEB_CONCURRENCY": "1"}
    with serving(environ, tmp_path) as web:
        assert web.post(1).status_code == 200
        time.sleep(7)
        assert web.post(2).status_code == 200

    assert queued(channel, topology) == ["reader1@example.com", "reader2@example.com"]


def test_four_preloaded_workers_take_200_parallel_posts(
    process_environ: dict[str, str], channel: BlockingChannel, topology: Topology, tmp_path: Path
) -> None:
    with serving(process_environ | {"WEB_CONCURRENCY": "4"}, tmp_path, "--preload") as web:
        with ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(web.post, range(200)))
        log = web.log

    assert [answer.status_code for answer in answers] == [200] * 200
    assert sorted(queued(channel, topology)) == sorted(f"reader{number}@example.com" for number in range(200))
    assert "broker unreachable" not in log
    assert "Traceback" not in log


def test_readiness_does_not_need_the_stores(
    process_environ: dict[str, str], own_redis: RedisServer, channel: BlockingChannel, tmp_path: Path
) -> None:
    own_redis.freeze()
    with serving(process_environ | {"REDIS_URL": own_redis.url, "WEB_CONCURRENCY": "1"}, tmp_path) as web:
        answer = requests.get(f"{web.url}/readyz", timeout=5)

    assert (answer.status_code, answer.json()["broker"], answer.json()["redis"] == "ok") == (200, "ok", False)


def test_a_webhook_needs_neither_redis_nor_sql(
    process_environ: dict[str, str], channel: BlockingChannel, topology: Topology, tmp_path: Path
) -> None:
    nowhere = {"REDIS_URL": "redis://127.0.0.1:1/0", "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    with serving(process_environ | nowhere | {"WEB_CONCURRENCY": "1"}, tmp_path) as web:
        assert web.post(1).status_code == 200

    assert queued(channel, topology) == ["reader1@example.com"]


def test_sigterm_under_load_answers_what_has_begun_and_loses_nothing(
    process_environ: dict[str, str], channel: BlockingChannel, topology: Topology, tmp_path: Path
) -> None:
    taken: list[str] = []
    stop = threading.Event()

    def load(lane: int) -> None:
        with requests.Session() as session:
            for number in range(lane, 1_000_000, 8):
                try:
                    if process.post(number, session).status_code == 200:
                        taken.append(f"reader{number}@example.com")
                except requests.RequestException:
                    if stop.is_set():
                        return

    with serving(process_environ, tmp_path) as process:
        threads = [threading.Thread(target=load, args=(lane,)) for lane in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        stop.set()
        status, seconds = process.terminate()
        for thread in threads:
            thread.join()

    assert (status, seconds < 25) == (0, True)
    assert len(taken) > 100
    assert set(taken) <= set(queued(channel, topology))


def test_sigterm_does_not_wait_for_idle_connections(web: WebProcess) -> None:
    with requests.Session() as session:
        assert web.post(1, session).status_code == 200

        status, seconds = web.terminate()

    assert (status, seconds < 5) == (0, True)


NO_KEY = base64.b64encode(b"no key at all" * 10).decode()  # the form is right


@pytest.mark.parametrize(
    "wrong",
    [
        {"PORT": "eighty", "AMQP_URL": "nonsense", "RESEND_WEBHOOK_SECRETS": ""},
        {
            "POSTAL_PUBLIC_KEYS": NO_KEY,
            "SENDGRID_WEBHOOK_KEYS": NO_KEY,
            "SCALEWAY_TOPIC_ARNS": "arn:aws:sns:eu-west-1:1:a",
        },
    ],
    ids=["form", "provider"],
)
def test_wrong_settings_stop_the_boot_with_all_faults_said_once(
    process_environ: dict[str, str], wrong: dict[str, str]
) -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "gunicorn", "-c", "config/gunicorn.conf.py", "webhook.wsgi:app"],
        cwd=ROOT,
        env=process_environ | wrong,
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert done.returncode == 1
    assert [done.stderr.count(name) for name in wrong] == [1, 1, 1]
    assert "Traceback" not in done.stdout + done.stderr


def test_the_log_is_json_and_names_the_secret_but_no_address(web: WebProcess) -> None:
    web.post(1)

    line = next(line for line in web.log.splitlines() if '"outcome":"accepted"' in line)
    assert '"secret":"1 of 1"' in line
    assert "example.com" not in web.log
    assert SECRET not in web.log


def test_each_worker_has_one_broker_connection_however_many_requests_run(
    process_environ: dict[str, str], rabbitmq: RabbitMQ, channel: BlockingChannel, tmp_path: Path
) -> None:
    with serving(process_environ | {"WEB_CONCURRENCY": "2"}, tmp_path) as web:
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(web.post, range(60)))
        names = rabbitmq.ctl("list_connections", "client_properties")

    assert 1 <= names.count("mailward web") <= 2
