"""What nobody who reads a log or a list needs to know: whom a failure is about. The whole path, for every provider."""

import io
import logging
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import text

from core import telemetry
from core.events import Event, Kind
from core.messages import message_id_of
from dev.services import RabbitMQ, RedisServer
from providers import registry
from tests.command_line import CommandLine
from tests.forked import running
from tests.letters import lying
from tests.system import event, wait_until
from tests.unit.providers.security_cases import SENT_AT
from tests.whole_path import WholePath, opened

UNKNOWN = b"<jane.doe@example.com> unknown"
SHARED_REPORT = {
    "eventType": "Bounce",
    "bounce": {
        "bounceType": "Permanent", "bounceSubType": "General", "feedbackId": "shared", "timestamp": SENT_AT.isoformat(),
        "bouncedRecipients": [{"emailAddress": f"{one}@example.com"} for one in ("jane.one", "jane.two")],
    },
    "mail": {"messageId": "mail-shared"},
}  # fmt: skip
REFUSED_BY_SQL = "jane.sql@example.com"


def named(text: str) -> bool:
    """Whether somebody of these tests is named: all are called jane."""
    return "jane" in text.lower()


@dataclass
class Aftermath:
    """What is left of failures of every kind: what the processes logged, and the letters."""

    path: WholePath
    web_log: str
    consumer_log: str
    letters: list[tuple[str, dict[str, Any], bytes]]
    parked: list[tuple[str, dict[str, Any], bytes]]

    @property
    def ids(self) -> list[str]:
        """The ids in which design puts an address: several people share one report."""
        return [one for one in (message_id_of(letter[0], letter[2]) for letter in self.letters) if named(one)]

    @property
    def mailward(self) -> CommandLine:
        return CommandLine(self.path.system.environ)


@pytest.fixture(scope="module")
def aftermath(
    rabbitmq: RabbitMQ, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Aftermath]:
    with opened(rabbitmq, redis_server, tmp_path_factory.mktemp("leaks")) as path:
        log = io.StringIO()
        with logged_to(log):
            for name in registry.known_names():
                post_everything(path, name)
            path.post("ses", SHARED_REPORT)
        people = [one.recipient for one in queued(path)]
        for person in people:
            path.system.redis.hset(path.system.key(person), "a", "hash, not a record")
        refuse_in_sql(path, REFUSED_BY_SQL)
        refused = event(recipient=REFUSED_BY_SQL, event_id="resend:refused-by-sql")
        path.system.publish([refused, b'{"recipient": "jane.raw@example.com"'])
        dead, lane = path.system.topology.events.dead_letters, path.system.topology.events.parked
        consumer_log = path.system.directory / "events.log"
        with running("events", path.system.environ, consumer_log):
            wait_until(lambda: path.system.depth(dead) == len(people) + 2, "everything is a dead letter")
        path.count()
        letters = [lying(path.system, queue) for queue in (dead, lane)]
        yield Aftermath(path, log.getvalue(), consumer_log.read_text(), *letters)


class logged_to:
    """What this process logs within the block, as the web process would write it."""

    def __init__(self, stream: io.StringIO) -> None:
        self._handler = logging.StreamHandler(stream)
        self._handler.setFormatter(telemetry.JsonFormatter("web"))
        self._handler.addFilter(lambda record: not record.name.startswith("pika"))  # as telemetry.configure
        self._root = logging.getLogger()

    def __enter__(self) -> None:
        self._before = self._root.level
        self._root.addHandler(self._handler)
        self._root.setLevel(logging.INFO)

    def __exit__(self, *_: object) -> None:
        self._root.removeHandler(self._handler)
        self._root.setLevel(self._before)


def post_everything(path: WholePath, name: str) -> None:
    """A hard bounce whose diagnosis names somebody, one about two people, a body that breaks off where the proof can
    be put into one, and a forgery."""
    provider = path.providers[name]
    body = provider.sample(Kind.HARD_BOUNCE, f"jane.{name}@example.com", f"mail-{name}", SENT_AT)
    for words in (b"no such user", b"user unknown", b"no+such+user"):
        body = body.replace(words, UNKNOWN)
    of_two = provider.sample(Kind.HARD_BOUNCE, "jane.a@example.com, jane.b@example.com", f"two-{name}", SENT_AT)

    assert path.post(name, body).status_code == 200
    assert path.post(name, of_two).json == {"queued": 0, "parked": 1, "counted": 0}
    with suppress(ValueError):
        assert path.post(name, body[: len(body) // 2]).status_code == 200
    assert path.post_as_it_is(name, body).status_code == 401


def queued(path: WholePath) -> list[Event]:
    """What has arrived, which is put back."""
    events = path.arrived()
    path.system.publish(events)
    return events


def refuse_in_sql(path: WholePath, address: str) -> None:
    """SQL refuses a row of `address`, in words that name it."""
    with path.system.engine.begin() as connection:
        connection.execute(
            text(
                f"CREATE TRIGGER refusing BEFORE INSERT ON journal WHEN NEW.address = '{address}'"
                f" BEGIN SELECT RAISE(ABORT, '{address} may not be journalled'); END"
            )
        )


def test_the_failures_are_those_of_everybody_and_their_letters_say_so(aftermath: Aftermath) -> None:
    assert len(aftermath.letters) == len(registry.known_names()) + 4
    assert len(aftermath.parked) > len(registry.known_names()) + 10
    assert all(b"jane" in body for _, _, body in aftermath.letters)
    assert sum(UNKNOWN in body for _, _, body in aftermath.letters) >= 10


def test_the_log_of_the_web_process_names_nobody(aftermath: Aftermath) -> None:
    assert aftermath.web_log.count('"outcome":"accepted"') == len(registry.known_names()) + len(aftermath.parked) + 1
    assert aftermath.web_log.count('"outcome":"refused"') == len(registry.known_names())
    assert not named(aftermath.web_log)


def test_the_log_of_the_consumer_tells_each_failure_and_names_nobody(aftermath: Aftermath) -> None:
    assert aftermath.consumer_log.count('"dead_letter"') == len(aftermath.letters)
    assert "may not be journalled" in aftermath.consumer_log
    assert not named(aftermath.consumer_log)


def test_no_header_of_a_dead_letter_names_anybody(aftermath: Aftermath) -> None:
    headers = [str(headers) for _, headers, _ in aftermath.letters + aftermath.parked]

    assert sum("last_error" in one for one in headers) >= len(registry.known_names())
    assert any("may not be journalled" in one for one in headers)
    assert [one for one in headers if named(one)] == []


@pytest.mark.parametrize(
    "command",
    [
        ("dlq", "list", "--ids"),
        ("dlq", "list", "--ids", "--json"),
        ("dlq", "replay", "--all", "--dry-run"),
        ("status",),
        ("status", "--json"),
        ("providers",),
        ("providers", "--json"),
    ],
    ids=" ".join,
)
def test_no_list_that_an_operator_sees_names_anybody_but_in_the_id_of_a_shared_report(
    aftermath: Aftermath, command: tuple[str, ...]
) -> None:
    shown = aftermath.mailward(*command).output
    for one in aftermath.ids:
        shown = shown.replace(one, "")

    assert shown.strip()
    assert not named(shown)
    assert len(aftermath.ids) == 2


def test_whoever_asks_for_one_letter_sees_whom_it_is_about(aftermath: Aftermath) -> None:
    letter = next(message_id for message_id, _, body in aftermath.letters if UNKNOWN in body)

    assert "jane.doe@example.com" in aftermath.mailward.out("dlq", "show", letter)


def test_no_counter_names_anybody(aftermath: Aftermath) -> None:
    labels = [str(tuple(row)) for row in aftermath.path.system.rows("SELECT name, provider, label FROM counts")]

    assert labels
    assert not named(" ".join(labels))
