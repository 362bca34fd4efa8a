"""A ledger that was restored, a Redis that was emptied: nobody gets a second mail, and nobody is left out for good."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from pika import BasicProperties
from pika.adapters.blocking_connection import BlockingChannel
from sqlalchemy import Engine

from core import batch_message, database
from core.ledger import lifecycle
from core.topology import Topology
from dev.services import PostgreSQL, RedisServer
from sender.sweeper import Sweeper
from tests.command_line import CommandLine
from tests.sending import World


def operator(world: World, redis_server: RedisServer) -> CommandLine:
    """The command line on the stores of `world`."""
    return CommandLine(world.environ(redis_server.url))


def resume(world: World, campaign: str) -> None:
    with world.engine.begin() as connection:
        lifecycle.resume(connection, campaign, "tester")


def assert_each_got_one(world: World, campaign: str, count: int) -> None:
    assert world.provider.mails == {f"reader{number:03}@example.com": 1 for number in range(count)}
    assert world.status(campaign)["sent"] == world.status(campaign)["total"] == count


# --- a restored ledger ---


@pytest.fixture
def live(database_url: str, redis_client: redis.Redis, redis_prefix: str) -> Iterator[World]:
    """A ledger in a database of its own, which can be copied."""
    engine = database.create(database_url)
    database.upgrade(engine)
    env = redis_prefix.rstrip(":")
    yield World(engine, redis_client, env)
    engine.dispose()
    for key in redis_client.scan_iter(f"mailward:{env}:*"):
        redis_client.delete(key)


@pytest.fixture
def backup(live: World, postgresql: PostgreSQL, tmp_path: Path) -> Iterator["Backup"]:
    made = Backup(live, postgresql, tmp_path / "backup.sqlite3")
    yield made
    made.drop()


class Backup:
    """A copy of a ledger as it was when `take` was called; `restored` works on it."""

    def __init__(self, live: World, postgresql: PostgreSQL, path: Path) -> None:
        self._live, self._postgresql, self._path = live, postgresql, path
        self._copy = f"{live.engine.url.database}_backup"
        self._engine: Engine | None = None

    def take(self) -> None:
        self._live.engine.dispose()  # PostgreSQL copies a database that nobody uses
        if self._live.engine.dialect.name == "postgresql":
            self._postgresql.execute(f"CREATE DATABASE {self._copy} TEMPLATE {self._live.engine.url.database}")
            return
        source, target = sqlite3.connect(str(self._live.engine.url.database)), sqlite3.connect(self._path)
        source.backup(target)
        source.close()
        target.close()

    def restored(self) -> World:
        """A worker on the copy, beside the same Redis and the same provider."""
        on_postgresql = self._live.engine.dialect.name == "postgresql"
        url = self._postgresql.database_url(self._copy) if on_postgresql else f"sqlite:///{self._path}"
        self._engine = database.create(url)
        return World(self._engine, self._live.redis, self._live.env, self._live.provider)

    def drop(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            if self._engine.dialect.name == "postgresql":
                self._postgresql.execute(f"DROP DATABASE {self._copy}")


class Queue:
    """The batches' queue on the broker, as the ledgers' sweepers fill it and their workers empty it."""

    def __init__(self, channel: BlockingChannel, topology: Topology) -> None:
        self._channel, self._topology = channel, topology

    def fill(self, world: World) -> int:
        """One pass of the sweeper; returns how many messages it published."""
        return Sweeper(world.engine, self._publish, self._topology).sweep().get("published", 0)

    def work(self, world: World, most: int = 1000) -> list[str]:
        """Let a worker take messages; what came of them."""
        come_to: list[str] = []
        for _ in range(most):
            method, _properties, body = self._channel.basic_get(self._topology.batches.name)
            if method is None:
                break
            come_to += world.work.apply([batch_message.decode(body or b"")])
            self._channel.basic_ack(method.delivery_tag)
        return come_to

    def _publish(self, messages: object) -> None:
        for one in messages:  # type: ignore[attr-defined]
            properties = BasicProperties(message_id=one.message_id, delivery_mode=2)
            self._channel.basic_publish(one.exchange, one.routing_key, one.body, properties, mandatory=True)


@pytest.fixture
def queue(channel: BlockingChannel, topology: Topology) -> Queue:
    return Queue(channel, topology)


@pytest.mark.parametrize("redis_too", [False, True], ids=["redis as it was", "redis empty"])
def test_a_restored_ledger_beside_a_live_broker_sends_nothing_before_it_is_adopted_and_nobody_a_second_mail_then(
    live: World, backup: Backup, queue: Queue, redis_server: RedisServer, redis_too: bool
) -> None:
    campaign = live.campaign(350)
    assert queue.fill(live) == 4
    assert queue.work(live, most=1) == ["accepted"]
    backup.take()
    assert queue.work(live, most=1) == ["accepted"]
    if redis_too:
        live.redis.delete(f"mailward:{live.env}:ledger")
    distrust = "ledger_emptied" if redis_too else "ledger_behind"

    restored = backup.restored()
    assert queue.work(restored) == [distrust] * 2
    assert restored.state(campaign)[0] == "paused"
    assert queue.fill(restored) == 0
    resume(restored, campaign)  # an operator who has not read why
    assert queue.fill(restored) + len(restored.move(campaign)) > 0
    assert set(queue.work(restored)) <= {distrust}
    assert restored.state(campaign)[0] == "paused"
    assert len(live.provider.calls) == 2

    mailward = operator(restored, redis_server)
    mailward.out("ledger", "adopt", "--yes")
    assert queue.work(restored) == []
    mailward.out("campaign", "resume", campaign)
    queue.fill(restored)
    assert set(queue.work(restored)) == {"accepted"}
    assert_each_got_one(restored, campaign, 350)  # the second call was repeated under its key, with its bytes


# --- an emptied Redis ---


def empty(world: World) -> None:
    """FLUSHALL, as far as this environment can see."""
    for pattern in (f"{world.env}:*", f"mailward:{world.env}:*"):
        for key in world.redis.scan_iter(pattern):
            world.redis.delete(key)


def put_back(world: World, count: int) -> None:
    world.store.put_many((f"reader{number:03}@example.com", b"{}") for number in range(count))


def test_a_redis_that_was_emptied_pauses_until_its_records_are_back_and_everybody_gets_the_mail_then(
    world: World, redis_server: RedisServer
) -> None:
    campaign, mailward = world.campaign(250, audience="store"), operator(world, redis_server)
    world.work.apply([world.message(campaign, world.call_ids(campaign)[0])])
    empty(world)

    assert world.move(campaign) == ["ledger_emptied"] * 2
    resume(world, campaign)
    assert world.move(campaign) == ["ledger_emptied"] * 2
    mailward.out("ledger", "adopt", "--yes")
    mailward.out("campaign", "resume", campaign)
    assert set(world.move(campaign)) == {"paused", "not_running"}  # the records are missing still
    assert world.state(campaign)[1].startswith("records_missing")
    assert (world.status(campaign)["skipped"], world.status(campaign)["sent"]) == (0, 100)

    put_back(world, 250)
    mailward.out("campaign", "resume", campaign)
    assert world.move(campaign) == ["accepted"] * 2
    assert_each_got_one(world, campaign, 250)


def test_a_redis_that_was_emptied_before_the_first_mail_skips_nobody(world: World) -> None:
    campaign = world.campaign(250, audience="store")
    empty(world)

    assert set(world.move(campaign)) == {"paused", "not_running"}
    assert (world.status(campaign)["skipped"], world.provider.calls) == (0, [])

    put_back(world, 250)
    resume(world, campaign)
    world.move(campaign)
    assert_each_got_one(world, campaign, 250)


def test_the_few_who_were_skipped_for_want_of_a_record_are_mailed_once_it_is_back(world: World) -> None:
    """Too few to tell an emptied Redis from recipients who have gone: skipped, and not for good."""
    campaign = world.campaign(10, audience="store")
    empty(world)
    world.move(campaign)
    assert world.status(campaign)["skipped"] == 10

    put_back(world, 10)
    with world.engine.begin() as connection:
        assert lifecycle.replan_absent(connection, campaign, "tester") == 10
    Sweeper(world.engine, lambda _: None, Topology("test.")).sweep()
    world.move(campaign)

    assert_each_got_one(world, campaign, 10)


# --- one person, written in several ways ---


def test_an_upload_that_writes_one_person_in_several_ways_mails_them_once(
    world: World, redis_server: RedisServer, tmp_path: Path
) -> None:
    html, mailward = tmp_path / "mail.html", operator(world, redis_server)
    html.write_text("<p>Hello</p>")
    options = ("--from", "News <news@example.org>", "--subject", "Hello", "--html", str(html))
    campaign = mailward.out("campaign", "create", "October", *options).strip()
    lines = b"".join(
        b'{"address": "%s"}\n' % written
        for written in (b"Ann@Example.com", b"ann@example.COM", b" ann@example.com ", b"Ann <ANN@EXAMPLE.COM>")
    )

    told = mailward.out("campaign", "upload", campaign, stdin=lines)
    mailward.out("campaign", "start", campaign, "--expect", "1")
    world.move(campaign)

    assert "1 added, 3 were there already" in told
    assert [mail.lower() for mail in world.provider.mails.elements()] == ["ann@example.com"]
