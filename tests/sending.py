"""A campaign under test: the real ledger, Redis and worker, and a provider that does what the test says."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import redis
from sqlalchemy import Engine, insert, text

from core import database
from core.batch_message import BatchMessage
from core.clock import utc_now
from core.ledger import campaigns, identity, lifecycle
from core.ledger.identity import LedgerKey
from core.ledger.states import Happening
from core.ledger.tables import campaign as campaign_table
from core.ledger.tables import delivery_ledger
from core.recipients import RecipientStore
from core.tables import to_us
from sender.clients.base import Answer, Capabilities
from sender.content import Content
from sender.look import Looker
from sender.mail import Mail
from sender.rate import SharedRate
from sender.send_batch import SendWork, Tools
from sender.slots import Slots

ENV = "test"
ACCEPTED, NOT_SENT, AMBIGUOUS = Happening.ACCEPTED, Happening.NOT_SENT, Happening.AMBIGUOUS


@dataclass
class Provider:
    """A provider with an idempotency store; `script` says what happens to its next calls, then it accepts."""

    script: list[Callable[["Provider", bytes, str], Answer]] = field(default_factory=list)
    account: str = "account-1"
    window_s: int = 24 * 3600
    mails: Counter[str] = field(default_factory=Counter)
    keys: dict[str, tuple[bytes, Answer]] = field(default_factory=dict)
    calls: list[tuple[str, bytes]] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    _ids: Any = field(default_factory=itertools.count)

    name = "resend"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(self.window_s, 100, True)

    def fragment(self, mail: Mail) -> bytes:
        return json.dumps({"to": mail.to, "subject": mail.subject, "tags": mail.tags}).encode()

    def body(self, fragments: list[bytes]) -> bytes:
        return b"[" + b",".join(fragments) + b"]"

    def call(self, body: bytes, idempotency_key: str) -> Answer:
        self.before()
        self.calls.append((idempotency_key, body))
        step = self.script.pop(0) if self.script else Provider.accept
        return step(self, body, idempotency_key)

    def accept(self, body: bytes, key: str) -> Answer:
        """As Resend: same key and bytes give the first answer again, other bytes a 409."""
        if key in self.keys:
            known, answer = self.keys[key]
            return answer if known == body else Answer(Happening.KEY_TAKEN, 409, "invalid_idempotent_request")
        recipients = [mail["to"] for mail in json.loads(body)]
        self.mails.update(recipients)
        answer = Answer(ACCEPTED, 200, ids=tuple(f"id-{next(self._ids)}" for _ in recipients))
        self.keys[key] = (body, answer)
        return answer

    def accept_and_drop(self, body: bytes, key: str) -> Answer:
        """Accept, and let the answer get lost."""
        self.accept(body, key)
        return Answer(AMBIGUOUS, 0, "read_timeout")


def answering(happening: Happening, status: int = 0, error: str = "", **more: Any) -> Callable[..., Answer]:
    """A step that answers without accepting anything."""
    return lambda _provider, _body, _key: Answer(happening, status, error, **more)


@dataclass
class World:
    """One ledger with a worker on it."""

    engine: Engine
    redis: redis.Redis
    env: str
    provider: Provider = field(default_factory=Provider)

    def __post_init__(self) -> None:
        self.store = RecipientStore(self.redis, f"{self.env}:{{address}}")
        self.ledger_key = LedgerKey(self.redis, self.env)
        self.slots = Slots(9, lambda: False)
        self.work = self.worker("worker-1")

    def environ(self, redis_url: str) -> dict[str, str]:
        """The environment of a command on these stores; without a broker."""
        return {
            "MAILWARD_ENV": self.env,
            "AMQP_URL": "amqp://127.0.0.1:1",
            "REDIS_URL": redis_url,
            "DATABASE_URL": self.engine.url.render_as_string(hide_password=False),
            "RECIPIENT_KEY": f"{self.env}:{{address}}",
        }

    def worker(self, owner: str) -> SendWork:
        """A worker of its own lease name."""
        looker = Looker(self.store, self.provider, self.env, "a made-up secret of tests")
        rate = SharedRate(self.redis, self.env, self.provider.account, 0)
        return SendWork(
            Tools(
                self.engine, looker, self.provider, rate, self.slots, self.ledger_key, self.env, owner, lambda _: None
            )
        )

    def campaign(self, count: int = 3, *, audience: str = "upload", start: bool = True) -> str:
        """A campaign for reader000@example.com and so on; with audience "store" each has a record."""
        addresses = [f"reader{number:03}@example.com" for number in range(count)]
        content = Content(
            sender="News <news@example.org>", subject="Hello {{ name }}", html="<p>Hello</p>", text="Hello"
        )
        now = to_us(utc_now())
        with self.engine.begin() as connection:
            made = campaigns.create(connection, "test", content.digest(), content.canonical().decode(), audience)
            rows = [
                {
                    "campaign_id": made, "recipient_id": f"r{number:03}", "address": address, "status": "pending",
                    "variables": '{"name": "Reader"}', "created_at": now, "updated_at": now,
                }
                for number, address in enumerate(addresses)
            ]  # fmt: skip
            connection.execute(insert(delivery_ledger), rows)
            counters = {"total": count, "pending": count}
            connection.execute(campaign_table.update().where(campaign_table.c.id == made).values(counters))
            if start:
                lifecycle.start(connection, made, "tester")
        if audience == "store":
            self.store.put_many((address, b"{}") for address in addresses)
        return made

    def call_ids(self, campaign_id: str, *states: str) -> list[int]:
        rows = self.rows("SELECT id, state FROM send_call WHERE campaign_id = :c ORDER BY id", c=campaign_id)
        return [row.id for row in rows if not states or row.state in states]

    def message(self, campaign_id: str, call_id: int) -> BatchMessage:
        with database.reading(self.engine) as connection:
            return BatchMessage(str(identity.known(connection)), campaign_id, call_id)

    def move(self, campaign_id: str, *, worker: SendWork | None = None) -> list[str]:
        """Deliver one message for each open call; what came of them."""
        results: list[str] = []
        for call_id in self.call_ids(campaign_id, "planned", "leased", "calling", "retry_wait"):
            results += (worker or self.work).apply([self.message(campaign_id, call_id)])
        return results

    def later(self, span: timedelta) -> None:
        """Let `span` pass for everything that the ledger waits for."""
        us = span // timedelta(microseconds=1)
        with self.engine.begin() as connection:
            connection.execute(
                text(
                    "UPDATE send_call SET due_at = due_at - :us, lease_until = lease_until - :us,"
                    " first_attempt_at = first_attempt_at - :us"
                ),
                {"us": us},
            )

    def status(self, campaign_id: str) -> dict[str, int]:
        with database.reading(self.engine) as connection:
            return campaigns.delivery_status(connection, campaign_id)

    def states(self, campaign_id: str) -> list[str]:
        return [
            row.state
            for row in self.rows("SELECT state FROM send_call WHERE campaign_id = :c ORDER BY id", c=campaign_id)
        ]

    def rows(self, query: str, **values: Any) -> Sequence[Any]:
        with database.reading(self.engine) as connection:
            return connection.execute(text(query), values).all()

    def state(self, campaign_id: str) -> tuple[str, str]:
        (row,) = self.rows("SELECT state, pause_reason FROM campaign WHERE id = :c", c=campaign_id)
        return row.state, row.pause_reason
