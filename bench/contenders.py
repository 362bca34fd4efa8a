"""Who runs: the product and its peers, on the same broker and the same records, each with a queue of its own."""

import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pika
from sqlalchemy import Engine, func, select

from bench import load
from bench.environment import ROOT, peer_python
from bench.filler import Message, fill
from core import database
from core.decide import Outcome
from core.tables import journal
from core.topology import Topology, declare, queue_prefix
from dev import processes

ENV = "bench"
PEERS = ROOT / "bench" / "peers"
TAIL = 5000  # newest journal rows; more than a consumer can have in hand


@dataclass(frozen=True, slots=True)
class Services:
    """Where everything is: URLs of the broker, the store and an empty database, and a directory for logs."""

    amqp_url: str
    redis_url: str
    database_url: str
    directory: Path


class Contender(ABC):
    """One consumer process and its queue. `fill`, `start`, wait until `finished`, kill, `verify`."""

    queue: str

    def __init__(self, services: Services) -> None:
        self._services = services

    @abstractmethod
    def fill(self, n: int) -> None:
        """Make the queue anew with `n` events in it."""

    @abstractmethod
    def start(self) -> "subprocess.Popen[bytes]":
        """Start the consumer."""

    def finished(self) -> bool:
        """Whether no event is ready in the queue and all that the contender writes is written; cheap to ask."""
        return self.ready() == 0

    def verify(self, n: int) -> None:
        """Raise AssertionError unless all `n` events were applied and acked; asked when the consumer is dead."""
        returned = self.ready()
        if returned:
            raise AssertionError(f"{returned} events were unacked when the clock stopped")

    def ready(self) -> int:
        """Messages ready in the queue; those of a dead consumer are ready again."""
        with pika.BlockingConnection(pika.URLParameters(self._services.amqp_url)) as connection:
            return int(connection.channel().queue_declare(self.queue, passive=True).method.message_count)

    @property
    def _environ(self) -> dict[str, str]:
        return {"AMQP_URL": self._services.amqp_url, "REDIS_URL": self._services.redis_url, "QUEUE": self.queue}

    def _spawn(self, command: list[str], directory: Path, environ: dict[str, str]) -> "subprocess.Popen[bytes]":
        log = self._services.directory / f"{self.queue}.log"
        return processes.spawn(command, self._environ | environ, directory, log)


class Product(Contender):
    """`python -m consumer events` with the settings that it has when nobody sets any."""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self._topology = Topology(queue_prefix(ENV))
        self._engine: Engine = database.create(services.database_url)
        self.queue = self._topology.events.name

    def fill(self, n: int) -> None:
        database.upgrade(self._engine)
        with pika.BlockingConnection(pika.URLParameters(self._services.amqp_url)) as connection:
            channel = connection.channel()
            declare(channel, self._topology)
            channel.queue_purge(self.queue)
        fill(self._services.amqp_url, self.queue, load.as_events(load.numbers(n)))

    def start(self) -> "subprocess.Popen[bytes]":
        environ = {"MAILWARD_ENV": ENV, "DATABASE_URL": self._services.database_url, "LOG_LEVEL": "INFO"}
        return self._spawn([sys.executable, "-m", "consumer", "events"], ROOT, environ)

    def finished(self) -> bool:
        return super().finished() and not self._unapplied()

    def verify(self, n: int) -> None:
        super().verify(n)
        applied = select(func.count()).where(journal.c.applied_at.is_not(None), journal.c.outcome == Outcome.REMOVED)
        with database.reading(self._engine) as connection:
            rows = connection.execute(applied).scalar_one()
        self._engine.dispose()
        if rows != n:
            raise AssertionError(f"{rows} of {n} removals are applied in the journal")

    def _unapplied(self) -> bool:
        newest = select(func.max(journal.c.id)).scalar_subquery()
        intents = select(journal.c.id).where(journal.c.id > newest - TAIL, journal.c.applied_at.is_(None))
        with database.reading(self._engine) as connection:
            return connection.execute(intents.limit(1)).first() is not None


class Peer(Contender):
    """A small program of bench/peers that takes the provider's payloads and only deletes."""

    name = ""

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.queue = f"{ENV}.{self.name}"
        self._python = str(peer_python(PEERS / "requirements-sync.txt"))

    def fill(self, n: int) -> None:
        with pika.BlockingConnection(pika.URLParameters(self._services.amqp_url)) as connection:
            channel = connection.channel()
            channel.queue_delete(self.queue)
            channel.queue_declare(self.queue, durable=True, arguments={"x-queue-type": "quorum"})
        fill(self._services.amqp_url, self.queue, self._messages(load.numbers(n)))

    def start(self) -> "subprocess.Popen[bytes]":
        return self._spawn([self._python, f"sync_{self.name}.py"], PEERS, {})

    def _messages(self, order: list[int]) -> Iterable[Message]:
        return load.as_payloads(order)


class AioPika(Peer):
    """aio-pika, one DEL and one ack for each event, 100 at once."""

    name = "aiopika"


class Limit(Peer):
    """Bare pika, 200 events in one DEL and one ack."""

    name = "limit"


class Celery(Peer):
    """A Celery worker node with late acks."""

    name = "celery"
    concurrency = 2

    def start(self) -> "subprocess.Popen[bytes]":
        options = f"--concurrency={self.concurrency} --loglevel=ERROR --without-gossip --without-mingle"
        command = [self._python, "-m", "celery", "--app=sync_celery", "worker", *options.split()]
        return self._spawn(command, PEERS, {})

    def _messages(self, order: list[int]) -> Iterable[Message]:
        made = subprocess.run(
            [self._python, "sync_celery.py"],
            cwd=PEERS,
            env=self._environ,
            input="\n".join(map(str, order)),
            text=True,
            capture_output=True,
            check=True,
        )
        return map(_task, made.stdout.splitlines())


def _task(line: str) -> Message:
    """A task message as Celery publishes it: JSON, persistent."""
    made = json.loads(line)
    properties = pika.BasicProperties(
        content_type="application/json",
        content_encoding="utf-8",
        headers=made["headers"],
        delivery_mode=2,
        priority=0,
        **made["properties"],
    )
    return json.dumps(made["body"]).encode(), properties
