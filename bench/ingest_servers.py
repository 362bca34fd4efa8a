"""Who serves: the product and its peers, two workers each, every one with a queue of its own on the same broker."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import pika

from bench import key_pairs
from bench.environment import ROOT, peer_python
from core.topology import Topology, declare
from dev import processes
from dev.ports import free_port

SECRET = "whsec_bWFkZS11cC1zZWNyZXQtZm9yLWJlbmNo"  # noqa: S105 - made up
PEERS = ROOT / "bench" / "peers"
TOPOLOGY = Topology("bench.")
PEER_QUEUE = "bench.peers"
WORKERS = "2"
THREADS = "8"  # of each worker of the threaded peers, as their users set it


@dataclass(frozen=True, slots=True)
class Contender:
    """A server: the words of its command after the Python, its environment, and the path and queue to look at."""

    command: tuple[str, ...]
    path: str
    queue: str = PEER_QUEUE
    environ: dict[str, str] = field(default_factory=dict)
    own: bool = False  # runs in the product's environment


def _ours(path: str, **settings: str) -> Contender:
    command = ("-m", "gunicorn", "-c", str(ROOT / "config" / "gunicorn.conf.py"), "webhook.wsgi:app")
    environ = {"MAILWARD_ENV": "bench", "WEB_CONCURRENCY": WORKERS, **settings}
    return Contender(command, path, TOPOLOGY.events.name, environ, own=True)


def _flask(path: str) -> Contender:
    return Contender(("-m", "gunicorn", "-w", WORKERS, "--threads", THREADS, "-b", "{bind}", "ingest_flask:app"), path)


UVICORN = ("-m", "uvicorn", "--workers", WORKERS, "--port", "{port}", "--log-level", "error", "ingest_fastapi:app")
CONTENDERS = {
    "mailward": _ours("/webhooks/resend", RESEND_WEBHOOK_SECRETS=SECRET),
    "flask_per_thread": _flask("/per-thread"),
    "flask_per_request": _flask("/per-request"),
    "fastapi": Contender(UVICORN, "/webhooks/resend"),
    "verify": _flask("/verify"),
}


def sendgrid() -> Contender:
    """The product as SendGrid sees it, whose posts key_pairs.p256() signs."""
    return _ours("/webhooks/sendgrid", SENDGRID_WEBHOOK_KEYS=key_pairs.public_text(key_pairs.p256()))


@contextmanager
def serving(contender: Contender, amqp_url: str, directory: Path) -> Iterator[int]:
    """The contender runs for as long as the block does; yields its port."""
    port = free_port()
    python = sys.executable if contender.own else str(peer_python(PEERS / "requirements-ingest.txt"))
    words = [word.format(port=port, bind=f"127.0.0.1:{port}") for word in contender.command]
    environ = {"AMQP_URL": amqp_url, "PORT": str(port), "BENCH_QUEUE": PEER_QUEUE, "BENCH_SECRET": SECRET}
    where = ROOT if contender.own else PEERS
    process = processes.spawn([python, *words], environ | contender.environ, where, directory / "server.log")
    try:
        _wait_until_listening(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def prepare(amqp_url: str) -> None:
    """Declare the product's topology and the peers' queue."""
    with pika.BlockingConnection(pika.URLParameters(amqp_url)) as connection:
        channel = connection.channel()
        declare(channel, TOPOLOGY)
        channel.queue_declare(PEER_QUEUE, durable=True, arguments={"x-queue-type": "quorum"})


def purge(amqp_url: str, queue: str) -> int:
    """Empty `queue`; how many messages it had."""
    with pika.BlockingConnection(pika.URLParameters(amqp_url)) as connection:
        return int(connection.channel().queue_purge(queue).method.message_count)


def _wait_until_listening(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urlopen(f"http://127.0.0.1:{port}/", timeout=2).close()
        except OSError as error:
            if hasattr(error, "code"):  # an HTTP status: somebody answers
                return
        time.sleep(0.05)
    raise RuntimeError("the server did not come up; see server.log")
