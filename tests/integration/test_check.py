"""`mailward migrate` and `mailward check` on real services, sound and broken."""

import base64
import os
import subprocess
import sys
import time

import pytest
from pika.adapters.blocking_connection import BlockingChannel
from sqlalchemy import create_engine, text

from core.topology import Topology
from dev.services import PostgreSQL, RabbitMQ, RedisServer
from tests.command_line import CommandLine

SECRET = "whsec_bWFkZS11cC1mb3ItdGhlLXRlc3Rz"


@pytest.fixture
def mailward(process_environ: dict[str, str], channel: BlockingChannel) -> CommandLine:
    """The command line on sound services, with the topology declared and the tables made."""
    mailward = CommandLine(process_environ | {"RESEND_WEBHOOK_SECRETS": SECRET, "API_TOKENS": "a-token-of-the-tests"})
    mailward.out("migrate")
    return mailward


def problems(mailward: CommandLine) -> list[tuple[str, str, str]]:
    return [finding for finding in mailward.findings() if finding[0] != "OK"]


def test_help_lists_the_commands(mailward: CommandLine) -> None:
    out = mailward.out("--help")

    assert all(f"\n  {name} " in out for name in ("check", "dlq", "migrate", "recipients", "send-test-event", "watch"))


def test_migrate_makes_tables_and_topology_and_may_be_repeated(
    mailward: CommandLine, channel: BlockingChannel, topology: Topology
) -> None:
    channel.queue_delete(topology.events.name)

    out = mailward.out("migrate")

    assert "tables are up to date" in out
    channel.queue_declare(topology.events.name, passive=True)


def test_migrate_deletes_nothing_and_says_what_differs(
    mailward: CommandLine, channel: BlockingChannel, topology: Topology
) -> None:
    channel.queue_delete(topology.events.parked)
    channel.queue_declare(topology.events.parked, durable=True, arguments={"x-queue-type": "classic"})
    channel.basic_publish("", topology.events.parked, b"kept")

    result = mailward("migrate")

    assert result.exit_code == 1
    assert "inequivalent arg" in result.stderr
    assert topology.events.parked in result.stderr
    assert channel.queue_declare(topology.events.parked, passive=True).method.message_count == 1


def test_migrate_waits_for_a_service_and_then_says_which_is_missing(mailward: CommandLine) -> None:
    started = time.monotonic()

    result = CommandLine(mailward.environ | {"AMQP_URL": "amqp://127.0.0.1:1"})("migrate", "--wait", "1")

    assert time.monotonic() - started >= 1
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("Error: RabbitMQ at amqp://127.0.0.1:1")


def test_sound_services_have_warnings_at_most(mailward: CommandLine, topology: Topology) -> None:
    result = mailward("check")

    assert result.exit_code == 0
    assert problems(mailward) == [
        ("WARN", "rabbitmq", f"nobody consumes {topology.events.name}, 0 waiting"),
        ("WARN", "rabbitmq", f"nobody consumes {topology.batches.name}, 0 waiting"),
        ("WARN", "redis", "nothing is saved to disk: a restart loses every record"),
    ]
    assert len(result.stdout.splitlines()) == len(mailward.findings())


def test_check_changes_nothing(mailward: CommandLine, channel: BlockingChannel, topology: Topology) -> None:
    channel.queue_delete(topology.events.retry(1))

    assert ("FAIL", "rabbitmq", f"queue {topology.events.retry(1)} is missing") in problems(mailward)
    assert ("FAIL", "rabbitmq", f"queue {topology.events.retry(1)} is missing") in problems(mailward)
    assert mailward("check").exit_code == 1


def test_a_missing_exchange_and_a_queue_with_other_arguments_are_found(
    mailward: CommandLine, channel: BlockingChannel, topology: Topology
) -> None:
    channel.exchange_delete(topology.retry_exchange)
    channel.queue_delete(topology.events.dead_letters)
    channel.queue_declare(topology.events.dead_letters, durable=True, arguments={"x-queue-type": "quorum"})

    found = [text for level, _, text in problems(mailward) if level == "FAIL"]

    assert found[0] == f"exchange {topology.retry_exchange} is missing"
    assert found[1].startswith(f"queue {topology.events.dead_letters} has other arguments: PRECONDITION_FAILED")


def test_dead_letters_and_parked_messages_are_counted(
    mailward: CommandLine, channel: BlockingChannel, topology: Topology
) -> None:
    for queue in (topology.events.dead_letters, topology.events.parked, topology.events.parked):
        channel.basic_publish("", queue, b"{}", mandatory=True)

    found = [text for _, _, text in problems(mailward)]

    assert f"1 dead letters in {topology.events.dead_letters}" in found
    assert f"2 parked in {topology.events.parked}" in found


def test_a_consumer_is_seen(mailward: CommandLine, channel: BlockingChannel, topology: Topology) -> None:
    channel.basic_consume(topology.events.name, lambda *_: None)

    assert ("OK", "rabbitmq", f"{topology.events.name}: 0 waiting, 1 consumers") in mailward.findings()


def test_missing_tables_are_found_and_no_file_is_made(mailward: CommandLine, tmp_path: os.PathLike[str]) -> None:
    file = os.path.join(tmp_path, "other.sqlite3")

    found = problems(CommandLine(mailward.environ | {"DATABASE_URL": f"sqlite:///{file}"}))

    assert ("FAIL", "sql", f"there is no file {file}") in found
    assert not os.path.exists(file)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DROP TABLE alembic_version", "there are no tables yet"),
        ("UPDATE alembic_version SET version_num = '9999'", "a newer mailward made the tables (9999;"),
    ],
)
def test_tables_of_another_version_are_found(mailward: CommandLine, statement: str, says: str) -> None:
    engine = create_engine(mailward.environ["DATABASE_URL"])
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()

    assert next(text for level, area, text in problems(mailward) if (level, area) == ("FAIL", "sql")).startswith(says)


def test_postgresql_is_looked_at_with_its_clock(mailward: CommandLine, postgresql_url: str) -> None:
    mailward = CommandLine(mailward.environ | {"DATABASE_URL": postgresql_url})
    assert ("FAIL", "sql", "there are no tables yet") in problems(mailward)

    mailward.out("migrate")

    found = [text.split(",")[0] for level, area, text in mailward.findings() if area == "sql" and level == "OK"]
    assert found == ["connected", "tables are up to date (0004)", "clock agrees with ours to 0.0 s"]


@pytest.mark.parametrize("variable", ["AMQP_URL", "REDIS_URL", "DATABASE_URL"])
def test_a_service_that_is_away_fails_alone(mailward: CommandLine, variable: str) -> None:
    scheme = {"AMQP_URL": "amqp", "REDIS_URL": "redis", "DATABASE_URL": "postgresql"}[variable]
    mailward = CommandLine(mailward.environ | {variable: f"{scheme}://user:word@127.0.0.1:1/0"})

    failures = [(area, text) for level, area, text in problems(mailward) if level == "FAIL"]

    assert [area for area, _ in failures] == [{"AMQP_URL": "rabbitmq", "REDIS_URL": "redis"}.get(variable, "sql")]
    assert variable in failures[0][1]
    assert "refused" in failures[0][1]
    assert "word" not in failures[0][1]


def test_wrong_settings_are_findings_too(mailward: CommandLine) -> None:
    found = CommandLine(mailward.environ | {"PORT": "x", "LOG_LEVEL": "y"}).findings()

    assert {(level, area, text.split()[0]) for level, area, text in found} == {
        ("FAIL", "settings", "PORT"),
        ("FAIL", "settings", "LOG_LEVEL"),
    }


def test_a_key_that_is_none_of_its_provider_is_a_finding_and_hides_no_other(mailward: CommandLine) -> None:
    nobodys_key = base64.b64encode(b"no key at all" * 10).decode()

    found = CommandLine(mailward.environ | {"POSTAL_PUBLIC_KEYS": nobodys_key, "SENDGRID_WEBHOOK_KEYS": nobodys_key})

    told = [(level, text.split()[0]) for level, area, text in found.findings() if area == "providers"]
    assert told == [("FAIL", "POSTAL_PUBLIC_KEYS"), ("FAIL", "SENDGRID_WEBHOOK_KEYS")]
    assert "sql" in {area for _, area, _ in found.findings()}


@pytest.fixture
def redis_apart(mailward: CommandLine, own_redis: RedisServer) -> tuple[CommandLine, RedisServer]:
    return CommandLine(mailward.environ | {"REDIS_URL": own_redis.url}), own_redis


@pytest.mark.parametrize(
    ("commands", "finding"),
    [
        ((), ("OK", "append-only file on")),
        ((("config", "set", "maxmemory-policy", "allkeys-lru"),), ("WARN", "maxmemory-policy allkeys-lru: harmless")),
        (
            (("config", "set", "maxmemory-policy", "allkeys-lru"), ("config", "set", "maxmemory", "100mb")),
            ("FAIL", "maxmemory-policy allkeys-lru: records are thrown away"),
        ),
        (
            (("config", "set", "appendonly", "no"), ("config", "set", "save", "900 1")),
            ("WARN", "snapshots only (save 900 1)"),
        ),
        ((("replicaof", "127.0.0.1", "1"),), ("FAIL", "this is a replica")),
        ((("acl", "setuser", "default", "-config"),), ("WARN", "it does not let us see maxmemory-policy")),
    ],
)
def test_what_a_redis_lacks_is_found(
    redis_apart: tuple[CommandLine, RedisServer], commands: tuple[tuple[str, ...], ...], finding: tuple[str, str]
) -> None:
    mailward, server = redis_apart
    for command in commands:
        server.cli(*command)

    found = [(level, text) for level, area, text in mailward.findings() if area == "redis"]

    assert [one for one in found if one[0] == finding[0] and one[1].startswith(finding[1])]


def test_a_frozen_broker_is_a_finding_within_seconds(mailward: CommandLine, own_rabbitmq: RabbitMQ) -> None:
    own_rabbitmq.freeze()
    started = time.monotonic()

    found = problems(CommandLine(mailward.environ | {"AMQP_URL": own_rabbitmq.url}))

    assert time.monotonic() - started < 20
    assert [area for level, area, _ in found if level == "FAIL"] == ["rabbitmq"]


def test_a_follower_that_takes_no_writes_is_found(
    mailward: CommandLine, postgresql: PostgreSQL, postgresql_url: str
) -> None:
    CommandLine(mailward.environ | {"DATABASE_URL": postgresql_url}).out("migrate")
    name = postgresql_url.rpartition("/")[2]
    postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    found = problems(CommandLine(mailward.environ | {"DATABASE_URL": postgresql_url}))

    assert ("FAIL", "sql", "this server takes no writes (a follower?)") in found


def test_the_module_runs_as_the_console_script_does(process_environ: dict[str, str]) -> None:
    environ = process_environ | {"AMQP_URL": "amqp://127.0.0.1:1", "REDIS_URL": "redis://127.0.0.1:1"}

    done = subprocess.run(
        [sys.executable, "-m", "ops", "check"], env=environ, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr == ""
    assert {line.split()[0] for line in done.stdout.splitlines()} <= {"OK", "WARN", "FAIL"}
