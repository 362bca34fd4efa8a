"""`mailward recipients` on real Redis and SQL."""

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from sqlalchemy import Engine, select, text

from consumer.apply_events import EventWork
from core import database, history
from core.clock import utc_now
from core.events import Event, Kind
from core.recipients import Deletion, RecipientStore
from core.restore import restore
from core.tables import journal
from dev.services import RedisServer
from tests.command_line import CommandLine

ADDRESS = "ann@example.com"


@pytest.fixture
def environ(environment_name: str, redis_server: RedisServer, redis_prefix: str, database_url: str) -> dict[str, str]:
    """Redis and SQL (each engine in turn) of this test's own; there is no broker at all."""
    return {
        "MAILWARD_ENV": environment_name,
        "AMQP_URL": "amqp://127.0.0.1:1",
        "REDIS_URL": redis_server.url,
        "DATABASE_URL": database_url,
        "RECIPIENT_KEY": f"{redis_prefix}{{address}}",
    }


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = database.create(database_url)
    database.upgrade(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def store(redis_client: redis.Redis, redis_prefix: str) -> RecipientStore:
    return RecipientStore(redis_client, f"{redis_prefix}{{address}}")


@pytest.fixture
def mailward(environ: dict[str, str], engine: Engine) -> CommandLine:
    return CommandLine(environ)


def complaint(number: int = 1, verbatim: str = ADDRESS, occurred_at: datetime | None = None) -> Event:
    moment = occurred_at or datetime.now(UTC)
    return Event(
        f"resend:msg_{number}",
        "resend",
        Kind.COMPLAINT,
        verbatim.lower(),
        verbatim,
        moment,
        moment,
        "resend.complained",
    )


def apply(store: RecipientStore, engine: Engine, *events: Event) -> dict[str, int]:
    return EventWork(store, engine, utc_now).apply(events)


def stored(store: RecipientStore, address: str = ADDRESS) -> bytes | None:
    return store.read([store.key(address)])[0]


def since(record: bytes | None) -> datetime:
    return datetime.fromisoformat(json.loads(record or b"{}")["eligible_since"])


# --- add, show, delete ---


def test_add_stores_an_object_with_consent_as_of_now(mailward: CommandLine, store: RecipientStore) -> None:
    before = datetime.now(UTC)

    mailward.out("recipients", "add", "Ann <ANN@example.com>")

    assert before <= since(stored(store)) <= datetime.now(UTC)


def test_add_keeps_the_consent_that_the_value_brings(mailward: CommandLine, store: RecipientStore) -> None:
    value = '{"n": 1, "eligible_since": "2026-01-31T00:00:00Z"}'

    mailward.out("recipients", "add", ADDRESS, "--value", value)

    assert stored(store) == value.encode()


def test_add_reads_the_value_from_standard_input(mailward: CommandLine, store: RecipientStore) -> None:
    mailward.out("recipients", "add", ADDRESS, "--value", "-", stdin=b"\xff\x00 not text")

    assert stored(store) == b"\xff\x00 not text"


@pytest.mark.parametrize("wrong", ["soon", "2999-01-01"])
def test_add_refuses_a_consent_that_would_not_count(mailward: CommandLine, store: RecipientStore, wrong: str) -> None:
    result = mailward("recipients", "add", ADDRESS, "--value", json.dumps({"eligible_since": wrong}))

    assert (result.exit_code, stored(store)) == (2, None)


@pytest.mark.parametrize("record", [b'{"name": "Ann"}', b"active"])
def test_add_lets_a_record_in_again_that_reappeared(
    mailward: CommandLine, store: RecipientStore, engine: Engine, record: bytes
) -> None:
    store.put(ADDRESS, record)
    apply(store, engine, complaint())
    store.put(ADDRESS, record)  # by the application, which knows nothing of eligible_since
    assert "blocked  yes: the complaint" in mailward.out("recipients", "show", ADDRESS)

    added = mailward.out("recipients", "add", ADDRESS)

    assert "gets mail" in added
    assert "blocked  no" in mailward.out("recipients", "show", ADDRESS)
    assert (stored(store) or b"").startswith(record.rstrip(b"}"))


def test_an_event_older_than_an_add_removes_nothing(
    mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"active")
    apply(store, engine, complaint(1))
    late = complaint(2)
    mailward.out("recipients", "add", ADDRESS, "--value", "active")

    assert apply(store, engine, late) == {"stale": 1}
    assert stored(store) == b"active"


def test_show_escapes_what_a_terminal_would_obey(mailward: CommandLine, store: RecipientStore) -> None:
    store.put(ADDRESS, b"\x1b[2J\xc2\x9b")

    shown = mailward.out("recipients", "show", ADDRESS)

    assert "\x1b" not in shown
    assert r"\u001b[2J" in shown


def test_delete_removes_both_spellings_and_says_what_was_there(mailward: CommandLine, store: RecipientStore) -> None:
    store.put("ann@example.com", b'{"n": 1}')
    store.put("Ann@Example.com", b"\xff")
    store.put("bob@example.com", b"{}")

    out = mailward.out("recipients", "delete", "Ann@Example.com")

    assert [json.loads(line) for line in out.splitlines()] == [
        {"address": "ann@example.com", "record": {"n": 1}},
        {"address": "Ann@Example.com", "verbatim": True, "record_base64": "/w=="},
    ]
    assert [stored(store, one) for one in ("ann@example.com", "Ann@Example.com", "bob@example.com")] == [
        None,
        None,
        b"{}",
    ]
    assert mailward("recipients", "delete", ADDRESS).exit_code == 1


@pytest.mark.parametrize("wrong", ["nobody", "a@example.com,b@example.com", "a\u200b@example.com"])
def test_what_is_not_one_address_is_refused(mailward: CommandLine, wrong: str) -> None:
    result = mailward("recipients", "show", wrong)

    assert result.exit_code == 2
    assert "is not one email address" in result.stderr


# --- import and export ---


def test_an_export_is_imported_again_byte_for_byte(
    mailward: CommandLine, store: RecipientStore, redis_client: redis.Redis, tmp_path: Path
) -> None:
    records = {
        "a@example.com": b'{"n": 1.10, "n": 2}',
        "b@example.com": b"active",
        "c@example.com": bytes(range(256)),
        "D@Example.com": b'{\n  "pretty": true\n}\n',
        "not an address": b"",
    }
    store.put_many(records.items())
    file = tmp_path / "all.ndjson"
    mailward.out("recipients", "export", str(file))
    redis_client.delete(*map(store.key, records))

    out = mailward.out("recipients", "import", str(file))

    assert out == "5 stored, 0 not taken\n"
    assert dict(store.scan()) == records


def test_an_import_reports_bad_lines_takes_the_rest_and_fails(mailward: CommandLine, store: RecipientStore) -> None:
    lines = (
        b'{"address":"A@example.com"}\nnonsense\n{"address":"two@x, b@y"}\n{"address":"b@example.com","record":"x"}\n'
    )

    result = mailward("recipients", "import", stdin=lines)

    assert result.exit_code == 1
    assert result.stdout == "2 stored, 2 not taken\n"
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["line 2", "line 3"]
    assert dict(store.scan()) == {"a@example.com": b"{}", "b@example.com": b"x"}


def test_a_csv_is_told_by_its_name_or_by_format(mailward: CommandLine, store: RecipientStore, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("address,name\na@example.com,A\n")

    mailward.out("recipients", "import", str(file))
    mailward.out("recipients", "import", "--format", "csv", stdin=b"address,record\nb@example.com,x\n")

    assert dict(store.scan()) == {"a@example.com": b'{"name":"A"}', "b@example.com": b"x"}


def test_a_csv_without_the_column_address_is_refused_and_stores_nothing(
    mailward: CommandLine, store: RecipientStore
) -> None:
    result = mailward("recipients", "import", "--format", "csv", stdin=b"email\na@example.com\n")

    assert result.exit_code == 1
    assert "one of them must be address" in result.stderr
    assert dict(store.scan()) == {}


@pytest.mark.parametrize(
    ("members", "blocked"),
    [
        ('"record":{"n":1}', True),
        ('"record":"active"', True),
        ('"record":{"n":1,"eligible_since":"2026-11-02"}', False),
        ('"record":{"n":1},"eligible_since":"2026-11-02"', False),
        ('"record":"active","eligible_since":"2026-11-02"', False),
        ('"record":{"n":1},"eligible_since":"2026-10-31"', True),
        ('"record":"active","eligible_since":"2026-10-31"', True),
    ],
)
def test_an_import_re_admits_only_with_a_newer_consent(
    mailward: CommandLine, store: RecipientStore, engine: Engine, members: str, blocked: bool
) -> None:
    store.put(ADDRESS, b"{}")
    apply(store, engine, complaint(occurred_at=datetime(2026, 11, 1, tzinfo=UTC)))

    mailward.out("recipients", "import", stdin=f'{{"address":"{ADDRESS}",{members}}}\n'.encode())

    assert ("blocked  yes" in mailward.out("recipients", "show", ADDRESS)) is blocked


PEAK_MEMORY = """
import atexit, pathlib, sys
from ops.cli import main
atexit.register(lambda: sys.stderr.write(pathlib.Path("/proc/self/status").read_text()))
main()
"""


def peak_kib(environ: dict[str, str], file: Path) -> int:
    """The most memory that an import of `file` was ever given, in a process of its own."""
    command = [sys.executable, "-c", PEAK_MEMORY, "recipients", "import", str(file)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    return int(re.findall(r"VmHWM:\s*(\d+) kB", done.stderr)[0])


@pytest.mark.parametrize("database_url", ["sqlite://"])
def test_a_hundred_thousand_lines_are_imported_in_constant_memory_and_bounded_time(
    environ: dict[str, str], store: RecipientStore, redis_client: redis.Redis, tmp_path: Path
) -> None:
    files = {n: tmp_path / f"{n}.ndjson" for n in (1, 100_000)}
    for count, file in files.items():
        lines = (f'{{"address":"reader{n}@example.com","record":{{"name":"Reader {n}"}}}}\n' for n in range(count))
        file.write_text("".join(lines))
    least = peak_kib(environ, files[1])
    started = time.monotonic()

    most = peak_kib(environ, files[100_000])

    assert time.monotonic() - started < 60
    assert most - least < 10 * 1024
    keys = [store.key(f"reader{n}@example.com") for n in range(100_000)]
    assert redis_client.unlink(*keys) == 100_000


# --- why and restore ---


def test_why_names_the_event_the_rule_and_what_can_be_done(
    mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"{}")
    apply(store, engine, complaint())

    said = mailward.out("recipients", "why", ADDRESS)

    assert "the complaint that resend reported for" in said
    assert "(rule resend.complained) removed the record" in said
    assert "event resend:msg_1; applied" in said
    assert said.splitlines()[-1].startswith("ann@example.com gets no mail: the complaint")


def test_why_says_so_where_mailward_never_removed_an_address(mailward: CommandLine, store: RecipientStore) -> None:
    assert "not because of mailward" in mailward.out("recipients", "why", ADDRESS)

    store.put(ADDRESS, b"{}")

    assert "gets mail: it has a record" in mailward.out("recipients", "why", ADDRESS)


def test_restore_puts_every_spelling_back_byte_for_byte(
    mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    records = {"ann@example.com": b"\xff\x00", "Ann@Example.com": b'{"n": 1.10}'}
    store.put_many(records.items())
    apply(store, engine, complaint(verbatim="Ann@Example.com"))
    assert dict(store.scan()) == {}

    out = mailward.out("recipients", "restore", ADDRESS)

    assert dict(store.scan()) == records
    assert "2 journal rows marked restored" in out
    assert "gets mail" in mailward.out("recipients", "why", ADDRESS)


def test_restore_never_overwrites_a_newer_record_without_force(
    mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"old")
    apply(store, engine, complaint())
    store.put(ADDRESS, b"new")

    refused = mailward("recipients", "restore", ADDRESS)

    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert stored(store) == b"new"
    assert "blocked  yes" in mailward.out("recipients", "show", ADDRESS)

    mailward.out("recipients", "restore", ADDRESS, "--force")

    assert stored(store) == b"old"


def test_restore_is_safe_to_repeat(mailward: CommandLine, store: RecipientStore, engine: Engine) -> None:
    store.put(ADDRESS, b"old")
    apply(store, engine, complaint())

    mailward.out("recipients", "restore", ADDRESS)
    mailward.out("recipients", "restore", ADDRESS)

    assert stored(store) == b"old"


def test_restore_refuses_an_address_that_was_never_removed(mailward: CommandLine, store: RecipientStore) -> None:
    result = mailward("recipients", "restore", ADDRESS)

    assert (result.exit_code, stored(store)) == (1, None)
    assert "never removed" in result.stderr


def test_restore_lifts_the_block_of_an_address_that_had_no_record(
    mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    apply(store, engine, complaint())

    out = mailward.out("recipients", "restore", ADDRESS)

    assert "none was put back" in out
    assert stored(store) is None
    assert "blocked  no" in mailward.out("recipients", "show", ADDRESS)


def test_events_not_newer_than_a_restore_are_stale_and_newer_ones_remove(
    mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"old")
    apply(store, engine, complaint(1))
    late = complaint(2)
    mailward.out("recipients", "restore", ADDRESS)

    assert apply(store, engine, late) == {"stale": 1}
    assert apply(store, engine, complaint(3)) == {"removed": 1}
    assert stored(store) is None


class ReachingLate(RecipientStore):
    """A store whose compare-and-delete waits until the journal has been marked restored, as a slow consumer's might."""

    def __init__(self, client: redis.Redis, key_template: str, engine: Engine) -> None:
        super().__init__(client, key_template)
        self._engine = engine
        self.intended = threading.Event()

    def delete_if_unchanged(self, pairs: Sequence[tuple[str, bytes]]) -> list[Deletion]:
        self.intended.set()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with database.reading(self._engine) as connection:
                if connection.execute(select(journal.c.restored_at)).scalar() is not None:
                    break
            time.sleep(0.01)
        return super().delete_if_unchanged(pairs)


def test_an_event_in_flight_does_not_undo_a_restore(
    redis_client: redis.Redis, redis_prefix: str, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"old")
    slow = ReachingLate(redis_client, f"{redis_prefix}{{address}}", engine)
    consumer = threading.Thread(target=apply, args=(slow, engine, complaint()))
    consumer.start()
    slow.intended.wait(10)

    restore(store, engine, ADDRESS, force=False, clock=utc_now)

    consumer.join()
    assert stored(store) == b"old"
    with database.reading(engine) as connection:
        (row,) = history.of(connection, ADDRESS)
        assert history.blocks([row], [b"old"], utc_now()) == []


def test_a_restore_that_failed_between_journal_and_redis_is_completed_by_the_next(
    environ: dict[str, str], mailward: CommandLine, store: RecipientStore, engine: Engine
) -> None:
    store.put(ADDRESS, b"old")
    apply(store, engine, complaint(occurred_at=datetime.now(UTC) - timedelta(minutes=1)))
    with engine.begin() as connection:  # what the first half leaves behind
        connection.execute(text("UPDATE journal SET restored_at = applied_at"))

    mailward.out("recipients", "restore", ADDRESS)

    assert stored(store) == b"old"


# --- services that are away ---


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"REDIS_URL": "redis://127.0.0.1:1"}, "REDIS_URL"),
        ({"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}, "DATABASE_URL"),
        ({"DATABASE_URL": "sqlite://"}, "mailward migrate"),
    ],
)
def test_a_service_that_is_away_is_one_clear_line(mailward: CommandLine, change: dict[str, str], says: str) -> None:
    result = CommandLine(mailward.environ | change)("recipients", "why", ADDRESS)

    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert says in result.stderr


def test_wrong_settings_are_all_named_and_help_needs_none() -> None:
    mailward = CommandLine({"PORT": "x", "REDIS_URL": "y"})

    result = mailward("recipients", "why", ADDRESS)

    assert result.exit_code == 1
    assert {"PORT", "REDIS_URL"} <= set(result.stderr.split())
    assert mailward("recipients", "why", "--help").exit_code == 0
