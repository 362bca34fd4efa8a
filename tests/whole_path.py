"""The whole way of a provider's post, through the endpoint and the broker into Redis and SQL; for every provider."""

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pika
from pika.adapters.blocking_connection import BlockingChannel
from werkzeug.test import Client, TestResponse

from consumer.apply_events import EventWork
from core import parked, topology
from core.events import Event
from core.flusher import Flusher
from core.parked import Parked
from core.publisher import Publisher
from core.recipients import RecipientStore
from core.tables import metadata
from core.telemetry import Counters
from core.topology import Topology
from dev.services import RabbitMQ, RedisServer
from providers import registry
from providers.base import Provider
from tests.isolation import RETRY_DELAYS_S, environ_of, own_keys
from tests.system import System
from tests.unit.providers.security_cases import SENT_AT
from tests.unit.providers.test_every_provider import security_cases
from webhook import doors
from webhook.app import create_app
from webhook.endpoint import Endpoint

NOW = SENT_AT + timedelta(seconds=1)


@cache
def every_provider() -> Mapping[str, Provider]:
    """All providers, with the secrets of their security cases: each can sign."""
    return {name: case().make(case.secret) for name, case in security_cases().items()}


@dataclass
class WholePath:
    """Endpoint, queue and consumer in this process; their clock stands still at `now`.

    `fetched` are the addresses that the endpoint has called, `counters` what it has counted.
    """

    system: System
    now: datetime = NOW
    providers: Mapping[str, Provider] = field(default_factory=every_provider)
    fetched: list[str] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        environ, names = self.system.environ, self.system.topology
        self.store = RecipientStore(self.system.redis, environ["RECIPIENT_KEY"])
        self._publisher = Publisher(environ["AMQP_URL"], connection_name="test")
        parameters = pika.URLParameters(environ["AMQP_URL"])
        parameters.heartbeat = 0  # nobody serves it between two tests
        self._connection = pika.BlockingConnection(parameters)
        self._channel: BlockingChannel = self._connection.channel()
        topology.declare(self._channel, names)
        endpoint = Endpoint(
            self.providers, registry.missing, self._publisher, names, self.counters, lambda: self.now, self._fetch
        )
        self.door: Client = create_app([doors.route(endpoint)], doors.shortcuts(endpoint)).test_client()

    def post(self, name: str, body: object, message_id: str = "msg_1", sent_at: datetime = SENT_AT) -> TestResponse:
        """Sign and post; an object becomes JSON, bytes stay as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        post = self.providers[name].sign(content, message_id, sent_at)
        return self.post_as_it_is(name, post.body, post.headers)

    def post_as_it_is(self, name: str, body: bytes, headers: Mapping[str, str] | None = None) -> TestResponse:
        """Post without a proof but that of `headers`."""
        return self.door.post(f"/webhooks/{name}", data=body, headers=dict(headers or {}))

    def arrived(self) -> list[Event]:
        """Take every event off the work queue."""
        return [self._work().decode(body) for body in self._taken(self.system.topology.events.name)]

    def parked(self) -> list[Parked]:
        """Take everything off the parked lane."""
        return [parked.decode(body) for body in self._taken(self.system.topology.events.parked)]

    def apply(self, *events: Event) -> dict[str, int]:
        """What the consumer does with events."""
        return self._work().apply(events)

    def work_off(self) -> dict[str, int]:
        """What the consumer does with everything that has arrived."""
        return self.apply(*self.arrived())

    def come_to(self, name: str, body: object, message_id: str = "msg_1") -> dict[str, int]:
        """Post, and let the consumer have it."""
        assert self.post(name, body, message_id).status_code == 200
        return self.work_off()

    def left(self, *addresses: str) -> list[str]:
        """Who of `addresses` is still in the store."""
        found = self.store.read([self.store.key(one) for one in addresses])
        return [one for one, record in zip(addresses, found, strict=True) if record is not None]

    def count(self) -> None:
        """Bring what the endpoint has counted to SQL."""
        assert Flusher(self.counters, self.system.engine, lambda: self.now).flush()

    def reset(self) -> None:
        """Forget everything."""
        for queue in topology.queue_names(self.system.topology):
            self._channel.queue_purge(queue)
        keys: Sequence[bytes] = list(self.system.redis.scan_iter(self.system.key("*")))
        if keys:
            self.system.redis.delete(*keys)
        with self.system.engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        self.counters.drain()
        self.fetched.clear()
        self.now = NOW

    def close(self) -> None:
        self._publisher.close()
        self._connection.close()
        self.system.close()

    def _work(self) -> EventWork:
        return EventWork(self.store, self.system.engine, lambda: self.now)

    def _taken(self, queue: str) -> Iterator[bytes]:
        while (found := self._channel.basic_get(queue, auto_ack=True))[0] is not None:
            yield found[2] or b""

    def _fetch(self, url: str) -> bytes:
        self.fetched.append(url)
        return b""


@contextmanager
def opened(rabbitmq: RabbitMQ, redis_server: RedisServer, directory: Path) -> Iterator[WholePath]:
    """A way with names of its own, for as long as the block runs."""
    env = f"test-{uuid.uuid4().hex[:12]}"
    with own_keys(redis_server, env) as prefix:
        database_url = f"sqlite:///{directory / 'mailward.sqlite3'}"
        environ = environ_of(env, rabbitmq.url, redis_server.url, prefix, database_url)
        path = WholePath(System(environ, Topology(topology.queue_prefix(env), RETRY_DELAYS_S), directory))
        try:
            yield path
        finally:
            path.close()
