"""A whole event path under test: real services, our processes as subprocesses, and what can be seen from outside."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pika
import redis
from pika.adapters.blocking_connection import BlockingChannel
from sqlalchemy import Engine, text

from core import database, topology, wire
from core.events import Event, Kind
from core.topology import Topology

ROOT = Path(__file__).parent.parent
START = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)


def wait_until(holds: Callable[[], bool], what: str, timeout_s: float = 30.0) -> None:
    """Poll until `holds` is true; fails the test with `what` after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        time.sleep(0.05)


def event(
    number: int = 1,
    kind: Kind = Kind.COMPLAINT,
    recipient: str = "",
    verbatim: str = "",
    occurred_at: datetime = START,
    event_id: str = "",
) -> Event:
    """A made-up event; without more it is a complaint of reader<number>@example.com."""
    recipient = recipient or f"reader{number}@example.com"
    return Event(
        event_id=event_id or f"resend:msg_{number}",
        provider="resend",
        kind=kind,
        recipient=recipient,
        recipient_verbatim=verbatim or recipient,
        occurred_at=occurred_at,
        received_at=max(occurred_at, START) + timedelta(seconds=1),
        rule="test.rule",
    )


@dataclass
class System:
    """The services and names of one test. `environ` is the whole environment of the processes that it starts."""

    environ: dict[str, str]
    topology: Topology
    directory: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _engine: Engine | None = None

    @property
    def engine(self) -> Engine:
        """SQL, migrated on first use."""
        if self._engine is None:
            self._engine = database.create(self.environ["DATABASE_URL"])
            database.upgrade(self._engine)
        return self._engine

    @property
    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.environ["REDIS_URL"])

    @contextmanager
    def channel(self) -> Iterator[BlockingChannel]:
        """A confirming channel with the topology declared."""
        with pika.BlockingConnection(pika.URLParameters(self.environ["AMQP_URL"])) as connection:
            channel = connection.channel()
            topology.declare(channel, self.topology)
            channel.confirm_delivery()
            yield channel

    def start(self, *command: str, name: str = "events", **changes: str) -> subprocess.Popen[bytes]:
        """Start a process of ours in this environment (default: the events consumer); its log is `log(name)`."""
        arguments = command or (sys.executable, "-m", "consumer", "events")
        self.engine  # noqa: B018 - migrates before anybody needs the tables
        out = self._log_path(name).open("ab")
        process = subprocess.Popen(arguments, cwd=ROOT, env=self.environ | changes, stdout=out, stderr=out)
        out.close()
        self.processes.append(process)
        return process

    def stop(
        self, process: subprocess.Popen[bytes], sig: signal.Signals = signal.SIGTERM, timeout_s: float = 25
    ) -> int:
        """Signal a process and return its exit status."""
        process.send_signal(sig)
        return process.wait(timeout_s)

    def log(self, name: str = "events") -> str:
        path = self._log_path(name)
        return path.read_text() if path.exists() else ""

    def publish(self, bodies: Iterable[Event | bytes], headers: dict[str, Any] | None = None) -> None:
        """Put events (or raw bodies) on the work queue, confirmed."""
        with self.channel() as channel:
            for body in bodies:
                raw = body if isinstance(body, bytes) else wire.encode(body)
                message_id = None if isinstance(body, bytes) else body.event_id
                properties = pika.BasicProperties(
                    delivery_mode=2, message_id=message_id, headers={"attempt": 1} if headers is None else headers
                )
                channel.basic_publish(
                    self.topology.work_exchange, self.topology.events.name, raw, properties, mandatory=True
                )

    def depth(self, queue: str) -> int:
        """Ready messages in a queue."""
        with self.channel() as channel:
            return int(channel.queue_declare(queue, passive=True).method.message_count)

    def depths(self) -> dict[str, int]:
        """Ready messages in every queue there is."""
        with self.channel() as channel:
            queues = topology.queue_names(self.topology)
            return {name: int(channel.queue_declare(name, passive=True).method.message_count) for name in queues}

    def letters(self) -> list[tuple[Any, bytes]]:
        """Take every dead letter away: (properties, body) in order."""
        found: list[tuple[Any, bytes]] = []
        with self.channel() as channel:
            while True:
                method, properties, body = channel.basic_get(self.topology.events.dead_letters, auto_ack=True)
                if method is None:
                    return found
                found.append((properties, body or b""))

    def key(self, address: str) -> str:
        return self.environ["RECIPIENT_KEY"].format(address=address)

    def put(self, addresses: Sequence[str], record: bytes = b"{}") -> None:
        """Store a record for each address."""
        pipe = self.redis.pipeline(transaction=False)
        for address in addresses:
            pipe.set(self.key(address), record)
        pipe.execute()

    def record(self, address: str) -> bytes | None:
        value = self.redis.get(self.key(address))
        assert value is None or isinstance(value, bytes)
        return value

    def rows(self, query: str, **values: Any) -> list[Any]:
        """Rows of a SQL query."""
        with database.reading(self.engine) as connection:
            return list(connection.execute(text(query), values))

    def applied(self) -> int:
        """Number of applied journal rows."""
        return int(self.rows("SELECT count(*) FROM journal WHERE applied_at IS NOT NULL")[0][0])

    def outcomes(self) -> dict[str, int]:
        """Counted outcomes of the consumer."""
        rows = self.rows("SELECT label, sum(n) FROM counts WHERE name = 'outcome' GROUP BY label")
        return {label: int(n) for label, n in rows}

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        with pika.BlockingConnection(pika.URLParameters(self.environ["AMQP_URL"])) as connection:
            channel = connection.channel()
            for queue in topology.queue_names(self.topology):
                channel.queue_delete(queue)
        if self._engine is not None:
            self._engine.dispose()

    def _log_path(self, name: str) -> Path:
        return self.directory / f"{name}.log"
