"""Looking at dead letters on a real broker: what is shown, and that nothing changes by it."""

import json
import stat
from pathlib import Path

import pika
import pytest

from core.parked import ParkedReason
from ops.scan import Scan
from ops.scan_lock import scan_running
from tests.command_line import CommandLine
from tests.letters import crash, die, log_failure, lying, park, ready_command_line
from tests.system import System, event

LOOKING = [["list"], ["list", "--ids"], ["list", "--json"], ["show", "resend:msg_7"], ["export"]]


@pytest.fixture
def mailward(system: System) -> CommandLine:
    return ready_command_line(system)


@pytest.mark.parametrize("command", LOOKING)
def test_looking_takes_nothing_and_keeps_order_and_content(
    system: System, mailward: CommandLine, command: list[str]
) -> None:
    die(system, [event(number) for number in range(60)])
    before = lying(system, system.topology.events.dead_letters)

    for _ in range(2):
        mailward.out("dlq", *command)

    assert lying(system, system.topology.events.dead_letters) == before
    assert [message_id for message_id, _, _ in before] == [f"resend:msg_{number}" for number in range(60)]


def test_a_scan_keeps_the_order_where_it_needs_several_consumers_stops_early_and_takes_some(system: System) -> None:
    die(system, [event(number) for number in range(500)])
    queue = system.topology.events.dead_letters

    with Scan(system.environ["AMQP_URL"], queue, prefetch=60) as scan:
        taken = next(iter(scan.windows()))[-1]  # a busy broker may have given us a few only
        scan.ack(taken.tag)
    with Scan(system.environ["AMQP_URL"], queue, prefetch=60) as scan:
        seen = [one.message_id for window in scan.windows() for one in window]

    expected = [f"resend:msg_{number}" for number in range(500) if f"resend:msg_{number}" != taken.message_id]
    assert seen == expected
    assert [message_id for message_id, _, _ in lying(system, queue)] == expected


def test_letters_are_listed_by_lane_and_reason_with_their_error_from_the_log(
    system: System, mailward: CommandLine
) -> None:
    die(system, [event(1), event(2)])
    die(system, [event(3)], {"attempt": 2, "last_error": "Timeout: too slow for reader3@example.com"})
    for number in (1, 2):
        log_failure(system, f"resend:msg_{number}", f"the record of reader{number}@example.com is a hash")
    park(system, b"?", [ParkedReason(-1, "the body is not JSON")])

    listed = json.loads(mailward.out("dlq", "list", "--json"))

    assert listed["lanes"] == {"failed": 3, "crash-loop": 0, "parked": 1}
    assert [(one["lane"], one["reason"], one["count"], one["ids"]) for one in listed["groups"]] == [
        ("failed", "WrongType: the record of <address> is a hash", 2, ["resend:msg_1", "resend:msg_2"]),
        ("failed", "Timeout: too slow for <address>", 1, ["resend:msg_3"]),
        ("parked", "resend: the body is not JSON", 1, ["parked:1"]),
    ]
    assert "parked: 1 letter" in mailward.out("dlq", "list", "--lane", "parked")


def test_a_letter_of_the_delivery_limit_is_a_crash_loop(system: System, mailward: CommandLine) -> None:
    crash(system, event(1))

    assert json.loads(mailward.out("dlq", "list", "--json"))["lanes"]["crash-loop"] == 1
    assert "the consumer died with it" in mailward.out("dlq", "show", "resend:msg_1")


def test_a_letter_is_shown_with_event_error_stack_headers_and_body(system: System, mailward: CommandLine) -> None:
    die(system, [event(1), b"not json"])
    log_failure(system, "resend:msg_1", "a record is a hash")

    shown = mailward.out("dlq", "show", "resend:m")

    for text in (
        "complaint of reader1@example.com",
        "WrongType: a record is a hash",
        "Traceback: made up",
        '"attempt"',
    ):
        assert text in shown
    assert "not json" in mailward.out("dlq", "show", "sha256:")


@pytest.mark.parametrize(
    ("letter_id", "complaint"), [("nobody", "no letter has the id"), ("resend", "2 letters begin")]
)
def test_an_id_of_none_or_several_is_said_in_one_line(
    system: System, mailward: CommandLine, letter_id: str, complaint: str
) -> None:
    die(system, [event(1), event(2)])

    result = mailward("dlq", "show", letter_id)

    assert (result.exit_code, result.stdout) == (1, "")
    assert complaint in result.stderr


def test_letters_are_exported_whole_into_a_file_for_the_operator_alone(
    system: System, mailward: CommandLine, tmp_path: Path
) -> None:
    die(system, [event(1), b"\xff"])

    mailward.out("dlq", "export", "--output", str(tmp_path / "letters"))

    first, second = map(json.loads, (tmp_path / "letters").read_text().splitlines())
    assert (first["id"], json.loads(first["body"])["recipient"]) == ("resend:msg_1", "reader1@example.com")
    assert second["body_base64"] == "/w=="
    assert stat.S_IMODE((tmp_path / "letters").stat().st_mode) == 0o600


def test_an_empty_queue_is_said_to_be_empty(mailward: CommandLine) -> None:
    assert mailward.out("dlq", "list") == "no dead letters, and nothing is parked\n"
    assert mailward.out("dlq", "replay", "--all", "--yes") == "nothing to be replayed: no letter matches\n"


def test_a_second_scan_is_refused_while_one_runs_and_takes_nothing(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)])
    queue = system.topology.events.dead_letters

    with system.channel() as channel:
        with Scan(system.environ["AMQP_URL"], queue):
            assert scan_running(channel, queue)
            refused = mailward("dlq", "replay", "--all", "--yes")
        assert not scan_running(channel, queue)

    assert refused.exit_code == 1
    assert f"another operator is scanning {queue}" in refused.stderr
    assert system.depth(system.topology.events.name) == 0
    assert "1 letter" in mailward.out("dlq", "list")


def test_the_lock_ends_with_the_process_that_had_it(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)])
    queue = system.topology.events.dead_letters
    connection = pika.BlockingConnection(pika.URLParameters(system.environ["AMQP_URL"]))
    connection.channel().queue_declare(f"{queue}.scan", exclusive=True)
    assert mailward("dlq", "list").exit_code == 1

    connection.close()

    assert "1 letter" in mailward.out("dlq", "list")


def test_without_sql_one_can_still_look_but_not_act(system: System, mailward: CommandLine) -> None:
    die(system, [event(1)])
    mailward.environ["DATABASE_URL"] = "postgresql://127.0.0.1:1/nothing"

    listed, replayed = mailward("dlq", "list"), mailward("dlq", "replay", "--all", "--yes")

    assert (listed.exit_code, replayed.exit_code) == (0, 1)
    assert "resend:msg_1" in listed.stdout
    assert listed.stderr.count("without the log of errors") == 1
    assert system.depth(system.topology.events.name) == 0


def test_an_absent_broker_and_an_absent_queue_are_each_one_clear_line(system: System, mailward: CommandLine) -> None:
    nowhere = CommandLine(system.environ | {"AMQP_URL": "amqp://127.0.0.1:1"})("dlq", "list")
    undeclared = CommandLine(system.environ | {"MAILWARD_ENV": "elsewhere"})("dlq", "list")

    assert (nowhere.exit_code, undeclared.exit_code) == (1, 1)
    assert "RabbitMQ at amqp://127.0.0.1:1" in nowhere.stderr
    assert "no queue elsewhere.email-events-dlq: run `mailward migrate`" in undeclared.stderr
    assert nowhere.stderr.count("\n") == undeclared.stderr.count("\n") == 1
