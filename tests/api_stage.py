"""A whole web application on real services, in a state where its API has much to do, for clients that try anything."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import redis
from flask import Flask
from schemathesis import Case, GenerationMode
from schemathesis.core import NotSet
from sqlalchemy import insert, select

from config.settings import load
from consumer.apply_events import EventWork
from core.clock import utc_now
from core.ledger import lifecycle
from core.publisher import Publisher
from core.tables import metadata
from core.telemetry import Counters
from core.topology import Topology
from providers import registry
from sender.campaign import Campaigns
from tests.sending import Provider, World
from tests.system import event
from webhook import doors, health, openapi
from webhook.api import campaigns, recipients
from webhook.app import create_app
from webhook.endpoint import Endpoint

TOKEN = "a-made-up-token-of-tests"
WEBHOOK_SECRET = "whsec_b2xkLXNlY3JldC1mb3ItdGVzdHM="
ZERO = "zero\0byte"
# Members of requests that nobody would guess; the odd ones are what PostgreSQL takes for no text.
MEMBERS: dict[str, list[Any]] = {
    "name": ["October", ZERO, "\ud800"],
    "reason": ["made up", ZERO, "\ud800"],
    "after": ["", "reader000", ZERO],
    "from": ["News <news@example.org>"],
    "subject": ["Hello", "Hello {{ name }}"],
    "html": ["<p>Hello</p>"],
    "reply_to": [[], ["news@example.org"]],
    "headers": [{}, {"X-Made-Up": "yes"}],
    "tags": [{}, {"made": "up"}],
    "unsubscribe_url": ["", "https://example.org/u/{token}"],
    "filter": ["", "city=Paris"],
    "to": ["ann@example.com", "gone@example.com"],
}


def application(world: World, publisher: Publisher, topology: Topology) -> Flask:
    """Every route, as webhook.wsgi makes them; test mails go to the provider of `world`."""
    configured = registry.configured(load({"RESEND_WEBHOOK_SECRETS": WEBHOOK_SECRET}))
    endpoint = Endpoint(configured, registry.missing, publisher, topology, Counters(), utc_now)
    stores = {"redis": health.redis_check(world.redis), "database": health.database_check(world.engine)}
    made = Campaigns(world.engine, world.store, world.env, "a made-up secret of tests", False, False)
    blueprints = [
        doors.route(endpoint),
        health.blueprint(health.broker_check(publisher.require_queue, topology.events.name), stores),
        openapi.blueprint(),
        recipients.blueprint(world.store, world.engine, (TOKEN,), utc_now, False),
        campaigns.blueprint(made, world.provider, (TOKEN,)),
    ]
    return create_app(blueprints, doors.shortcuts(endpoint))


@dataclass
class Stage:
    """Campaigns in every state, recipients, and one who complained. `reset` brings that back after a change."""

    world: World
    app: Flask
    known: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world.store.put_many([("ann@example.com", b'{"name":"Ann"}'), ("gone@example.com", b"\xff")])
        EventWork(self.world.store, self.world.engine, utc_now).apply([event(1, recipient="gone@example.com")])
        self.world.provider.script = [Provider.accept_and_drop]
        paused, cancelled, running, draft = (
            self.world.campaign(start=started) for started in (True, True, True, False)
        )
        self.world.move(paused)
        with self.world.engine.begin() as connection:
            lifecycle.pause(connection, paused, "test", "made up")
            lifecycle.cancel(connection, cancelled, "test")
        self.known = MEMBERS | {
            "campaign_id": [draft, running, paused, cancelled, ZERO],
            "call_id": [*map(str, self.world.call_ids(paused)), ZERO],
            "address": ["ann@example.com", "gone@example.com", "new@example.com", "/ann@example.com"],
            "provider": list(registry.known_names()),
        }
        self._at_first = self._state()

    def aimed(self, case: Case) -> Case:
        """A copy of `case`; every other one, always the same ones, asks for what there is. What is wrong on purpose
        stays wrong."""
        seed = repr((case.path_parameters, case.query, None if isinstance(case.body, NotSet) else case.body))
        wrong = case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE
        given = {"path_parameters": case.path_parameters, "query": case.query, "body": case.body}
        if crc32(seed.encode()) % 2:
            for part in ["path_parameters"] if wrong else list(given):
                given[part] = self._chosen(given[part], seed)
        unshared = deepcopy(case.meta)  # the same cases are played on both engines
        return case.operation.Case(**given, headers=case.headers, media_type=case.media_type, _meta=unshared)

    def _chosen(self, given: Any, seed: str) -> Any:
        if not isinstance(given, dict):
            return given
        known = {name: self.known.get(name, [value]) for name, value in given.items()}
        return {name: values[crc32(f"{name} {seed}".encode()) % len(values)] for name, values in known.items()}

    @property
    def is_untouched(self) -> bool:
        """Whether SQL and Redis hold what they held at first."""
        return self._state() == self._at_first

    def reset(self) -> None:
        """Everything as it was at first, in SQL and Redis."""
        rows, values = self._at_first
        with self.world.engine.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
            for table in metadata.sorted_tables:
                if rows[table.name]:
                    connection.execute(insert(table), rows[table.name])
        for key in self._redis_keys():
            self.world.redis.delete(key)
        for key, value in values.items():
            self.world.redis.restore(key, 0, value)

    def _state(self) -> tuple[dict[str, list[dict[str, Any]]], dict[bytes, Any]]:
        with self.world.engine.begin() as connection:
            rows = {
                table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
                for table in metadata.sorted_tables
            }
        return rows, {key: self.world.redis.dump(key) for key in self._redis_keys()}

    def _redis_keys(self) -> Iterator[Any]:
        client: redis.Redis = self.world.redis
        for pattern in (f"{self.world.env}:*", f"mailward:{self.world.env}:*"):
            yield from client.scan_iter(pattern)
