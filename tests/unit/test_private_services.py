"""The private servers under tests, demo and benchmarks: ports, processes and the choice between ours and theirs."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import redis

from dev import processes
from dev.ports import LOWEST, free_port
from dev.services import RedisServer, ServerFailed, running, start_together

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server(own_redis: RedisServer) -> RedisServer:
    return own_redis


def test_a_port_is_never_handed_out_twice() -> None:
    ports = [free_port() for _ in range(200)]

    assert len(set(ports)) == 200


def test_ports_are_not_ephemeral_so_that_no_client_can_connect_to_itself() -> None:
    lowest_ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if lowest_ephemeral <= LOWEST + 1000:
        pytest.skip("this machine uses nearly all ports as ephemeral ones")

    assert all(LOWEST <= free_port() < lowest_ephemeral for _ in range(200))


def test_a_restarted_server_keeps_its_url_and_its_data(server: RedisServer) -> None:
    url = server.url
    server.cli("set", "key", "value")

    server.restart()

    assert server.url == url
    assert server.cli("get", "key") == "value"


def test_a_killed_server_is_revived_with_what_it_had_synced(server: RedisServer) -> None:
    server.cli("set", "key", "value")
    server.kill()
    assert not server.running

    server.revive()

    assert server.cli("get", "key") == "value"


def test_a_frozen_server_answers_nobody_until_it_is_thawed(server: RedisServer) -> None:
    with redis.Redis.from_url(server.url, socket_timeout=0.2, retry=None) as client:
        server.freeze()
        with pytest.raises(redis.TimeoutError):
            client.ping()

        server.thaw()

        assert client.ping()


def test_a_frozen_server_can_still_be_stopped(server: RedisServer) -> None:
    server.freeze()

    server.stop()

    assert not server.running


def test_a_server_that_does_not_come_up_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "appendonlydir").write_text("a file where Redis needs a directory")

    with pytest.raises(ServerFailed, match=r"Redis ended with status 1 before it answered.*(?s:.*)appendonlydir"):
        RedisServer(tmp_path, durable=True).start()


def test_a_port_that_somebody_took_meanwhile_is_exchanged_at_the_first_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        server = RedisServer(tmp_path)
        server.ports = (somebody.getsockname()[1],)

        with server:
            assert server.cli("ping") == "PONG"


def test_a_port_that_somebody_took_meanwhile_is_waited_for_at_a_restart(server: RedisServer) -> None:
    url = server.url
    server.stop()
    somebody = socket.create_server(("127.0.0.1", server.port))
    threading.Timer(0.5, somebody.close).start()

    server.start()

    assert server.url == url
    assert server.cli("ping") == "PONG"


def test_two_runs_cannot_share_a_directory(server: RedisServer) -> None:
    with pytest.raises(ServerFailed, match=f"in use by process {os.getpid()}"):
        RedisServer(server.directory).start()


def test_servers_die_with_a_process_that_is_killed_outright(tmp_path: Path) -> None:
    program = """if True:
        import sys, time
        from pathlib import Path
        from dev.services import RedisServer
        print(RedisServer(Path(sys.argv[1])).start().pid, flush=True)
        time.sleep(60)
    """
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())

        parent.send_signal(signal.SIGKILL)

    assert _ends_within(5, pid)


def test_a_directory_left_over_by_a_killed_run_is_used_again(tmp_path: Path) -> None:
    killed = RedisServer(tmp_path, durable=True).start()
    killed.cli("set", "key", "value")
    killed.kill()

    with RedisServer(tmp_path, durable=True) as server:
        assert server.cli("get", "key") == "value"


def test_given_urls_are_used_and_nothing_is_started(tmp_path: Path) -> None:
    given = {
        "AMQP_URL": "amqp://broker.example.com",
        "REDIS_URL": "redis://store.example.com",
        "DATABASE_URL": "postgres://sql.example.com/x",
    }

    with running(tmp_path, given) as urls:
        assert urls == given

    assert list(tmp_path.iterdir()) == []


def test_without_a_url_a_private_server_and_a_sqlite_file_are_used(tmp_path: Path) -> None:
    with running(tmp_path, {"CLOUDAMQP_URL": "amqp://broker.example.com", "REDIS_URL": ""}) as urls:
        with redis.Redis.from_url(urls["REDIS_URL"]) as client:
            assert client.ping()

        assert urls["AMQP_URL"] == "amqp://broker.example.com"
        assert urls["DATABASE_URL"] == f"sqlite:///{tmp_path / 'mailward.sqlite3'}"


def test_servers_that_did_start_are_stopped_when_another_one_fails(tmp_path: Path) -> None:
    good, bad = RedisServer(tmp_path / "good"), RedisServer(tmp_path / "bad", durable=True)
    bad.directory.mkdir()
    (bad.directory / "appendonlydir").write_text("a file where Redis needs a directory")

    with pytest.raises(ServerFailed), start_together([good, bad]):
        pytest.fail("must not be reached")

    assert not good.running


def _ends_within(seconds: float, pid: int) -> bool:
    deadline = time.monotonic() + seconds
    while processes.is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not processes.is_alive(pid)
