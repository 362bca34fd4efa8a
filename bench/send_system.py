"""A whole deployment that sends through the sandbox: private services, settings, the ledger, the fleet of processes."""

import io
import json
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, text

from bench.fleet import Fleet
from config.settings import Settings, load
from core import database, topology
from core.ledger import campaigns
from core.recipients import RecipientStore, connect
from core.topology import Topology, queue_prefix
from dev.ports import free_port
from dev.sandbox.server import API_KEY, SandboxServer
from dev.services import PostgreSQL, RabbitMQ, RedisServer, Server, environ, start_together
from sender.campaign import Campaigns

ENV = "bench"
ENGINES = ("sqlite", "postgresql")
WEBHOOK_SECRET = "whsec_bWFkZS11cC1zZWNyZXQtZm9yLWJlbmNo"  # noqa: S105 - made up
MAIL = {"from": "News <news@example.org>", "subject": "Hello {{ name }}", "text": "Hello {{ name }}, this is the news."}
BUSY_S = 60.0


@dataclass(frozen=True)
class SendSystem:
    """What a bench holds in its hands."""

    broker: RabbitMQ
    store: RedisServer
    sandbox: SandboxServer
    settings: Settings
    engine: Engine
    fleet: Fleet

    @property
    def topology(self) -> Topology:
        """The names of this deployment's queues."""
        return Topology(queue_prefix(self.settings.env), self.settings.retry_delays_s)

    @property
    def campaigns(self) -> Campaigns:
        """Campaigns as the command line handles them."""
        records = RecipientStore(connect(self.settings), self.settings.recipient_key)
        return Campaigns.of(self.settings, self.engine, records, patient=True)

    def draft(self, name: str, size: int, mail: Mapping[str, str] = MAIL) -> str:
        """A campaign for `size` made-up readers of its own, loaded and not yet started; returns its id."""
        made = self.campaigns.create(name, mail, "bench")
        uploaded = self.campaigns.upload(made, io.BytesIO(audience(name, size)), "ndjson")
        assert uploaded.loaded.added == size
        return made

    def status(self, campaign_id: str) -> dict[str, int]:
        """What `delivery-status` says."""
        with database.reading(self.engine) as connection:
            return campaigns.delivery_status(connection, campaign_id)

    def state(self, campaign_id: str) -> str:
        """The campaign's state, with the reason of a pause."""
        with database.reading(self.engine) as connection:
            row = campaigns.find(connection, campaign_id)
            return f"{row.state} {row.pause_reason}".strip()

    def counted(self, campaign_id: str) -> dict[str, int]:
        """Deliveries by status, really counted."""
        query = text("SELECT status, count(*) FROM delivery_ledger WHERE campaign_id = :campaign GROUP BY status")
        with database.reading(self.engine) as connection:
            return {status: n for status, n in connection.execute(query, {"campaign": campaign_id})}

    def without_event(self) -> int:
        """Deliveries of which the provider's events have said nothing yet."""
        query = text("SELECT count(*) FROM delivery_ledger WHERE outcome IS NULL")
        with database.reading(self.engine) as connection:
            return int(connection.execute(query).scalar_one())


def audience(name: str, size: int) -> bytes:
    """An NDJSON file of `size` readers, in no order."""
    numbers = list(range(size))
    random.Random(name).shuffle(numbers)
    return b"".join(
        json.dumps({"id": f"r{n:07}", "email": f"reader{n:07}@{name}.example.com", "name": f"Reader {n}"}).encode()
        + b"\n"
        for n in numbers
    )


@contextmanager
def running(directory: Path, engine: str, seed: int = 1, **settings: str) -> Iterator[SendSystem]:
    """Services on free ports with their data under `directory`, tables migrated; no process is started yet."""
    directory.mkdir(parents=True)
    directory.chmod(0o711)  # the user postgres has to pass
    port = free_port()
    broker, store = RabbitMQ(directory / "rabbitmq"), RedisServer(directory / "redis", durable=True)
    url = f"http://127.0.0.1:{port}/webhooks/resend"
    sandbox = SandboxServer(directory / "sandbox", webhook_url=url, webhook_secret=WEBHOOK_SECRET, seed=seed)
    servers: list[Server] = [broker, store, sandbox]
    if engine == "postgresql":
        servers.append(PostgreSQL(directory / "postgresql"))
    with start_together(servers):
        variables = {
            "MAILWARD_ENV": ENV,
            "DATABASE_URL": f"sqlite:///{directory.absolute()}/mailward.sqlite3",
            **environ(server for server in servers if server is not sandbox),
            "RESEND_API_KEY": API_KEY,
            "RESEND_API_URL": sandbox.url,
            "RESEND_WEBHOOK_SECRETS": WEBHOOK_SECRET,
            "SEND_RATE": "0",
            "PORT": str(port),
            "WEB_CONCURRENCY": "1",
            **settings,
        }
        yield from _running(directory, broker, store, sandbox, variables)


def _running(
    directory: Path, broker: RabbitMQ, store: RedisServer, sandbox: SandboxServer, variables: Mapping[str, str]
) -> Iterator[SendSystem]:
    read = load(variables)
    engine = database.create(read.database_url, busy_timeout_s=BUSY_S)
    fleet = Fleet(variables, directory)
    try:
        database.upgrade(engine)
        _declare(read)
        yield SendSystem(broker, store, sandbox, read, engine, fleet)
    finally:
        fleet.stop()
        engine.dispose()


def _declare(settings: Settings) -> None:
    import pika

    with pika.BlockingConnection(pika.URLParameters(settings.amqp_url)) as connection:
        topology.declare(connection.channel(), Topology(queue_prefix(settings.env), settings.retry_delays_s))
