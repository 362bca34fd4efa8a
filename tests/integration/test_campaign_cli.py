"""`mailward campaign` and `mailward ledger` on real Redis, both SQL engines and the sandbox."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.ledger import identity
from core.ledger.identity import Identity
from dev.sandbox.server import API_KEY, SandboxServer
from dev.services import RedisServer
from ops.campaign_watch import Pace, line
from tests.command_line import CommandLine
from tests.sending import Provider, World

SECRET = "a made-up secret of tests"


@pytest.fixture
def mailward(world: World, redis_server: RedisServer) -> CommandLine:
    more = {"UNSUBSCRIBE_SECRETS": SECRET.replace(" ", "-"), "RESEND_API_KEY": ""}
    return CommandLine(world.environ(redis_server.url) | more)


@pytest.fixture
def html(tmp_path: Path) -> str:
    path = tmp_path / "mail.html"
    path.write_text("<p>Hello {{ name }}</p>")
    return str(path)


def created(mailward: CommandLine, html: str, *more: str) -> str:
    options = ("--from", "News <news@example.org>", "--subject", "Hello {{ name }}", "--html", html)
    return mailward.out("campaign", "create", "October", *options, *more).strip()


def people(count: int) -> bytes:
    some = ({"address": f"reader{number:03}@example.com", "name": "Ann"} for number in range(count))
    return b"".join(json.dumps(one).encode() + b"\n" for one in some)


def running(mailward: CommandLine, html: str, count: int = 3) -> str:
    campaign = created(mailward, html)
    mailward.out("campaign", "upload", campaign, stdin=people(count))
    mailward.out("campaign", "start", campaign, "--expect", str(count))
    return campaign


def undecided(world: World, campaign: str) -> int:
    """The call of a campaign that may have been accepted."""
    world.provider.script.append(Provider.accept_and_drop)
    world.move(campaign)
    (call,) = world.call_ids(campaign, "retry_wait")
    return call


# --- create, upload, start ---


def test_a_campaign_is_created_filled_started_and_sent(mailward: CommandLine, world: World, html: str) -> None:
    campaign = created(mailward, html, "--unsubscribe-url", "https://example.org/u/{token}", "--tag", "kind=news")

    assert "3 added, 0 were there already" in mailward.out("campaign", "upload", campaign, stdin=people(3))
    assert "3 recipients" in mailward.out("campaign", "start", campaign)
    world.move(campaign)

    assert (len(world.provider.mails), set(world.provider.mails.values())) == (3, {1})
    assert campaign in mailward.out("campaign", "list")
    assert world.rows("SELECT DISTINCT action FROM operator_action WHERE actor LIKE 'cli:%' ORDER BY 1") == [
        ("create",),
        ("start",),
    ]


def test_a_csv_file_is_known_by_its_name(mailward: CommandLine, html: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("email,name\nann@example.com,Ann\n")

    assert "1 added" in mailward.out("campaign", "upload", created(mailward, html), str(path))


def test_a_repeated_upload_adds_nobody_and_replace_begins_anew(mailward: CommandLine, world: World, html: str) -> None:
    campaign = created(mailward, html)
    mailward.out("campaign", "upload", campaign, stdin=people(3))

    assert "0 added, 3 were there already" in mailward.out("campaign", "upload", campaign, stdin=people(3))
    assert "2 added" in mailward.out("campaign", "upload", campaign, "--replace", stdin=people(2))
    assert world.status(campaign)["total"] == 2


def test_bad_lines_are_reported_and_the_exit_status_says_so(mailward: CommandLine, world: World, html: str) -> None:
    campaign = created(mailward, html)

    result = mailward("campaign", "upload", campaign, stdin=people(1) + b"nonsense\n")

    assert (result.exit_code, "line 2: " in result.stderr, "1 added" in result.stdout) == (1, True, True)
    assert world.status(campaign)["total"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "nobody", "--subject", "x"), "from: "),
        (("--from", "a@example.org", "--subject", "{{ x"), "subject, line 1"),
        (("--from", "a@example.org", "--subject", "x", "--filter", "city"), "field=value"),
    ],
)
def test_what_cannot_be_sent_is_not_created(
    mailward: CommandLine, world: World, html: str, options: tuple[str, ...], said: str
) -> None:
    result = mailward("campaign", "create", "October", "--html", html, *options)

    assert (result.exit_code, said in result.output) == (1, True)
    assert world.rows("SELECT id FROM campaign") == []


def test_a_mail_that_cannot_be_made_is_named_and_nothing_starts(mailward: CommandLine, world: World, html: str) -> None:
    campaign = created(mailward, html)
    mailward.out("campaign", "upload", campaign, stdin=people(2) + b'{"address":"bob@example.com","id":"bob"}\n')

    result = mailward("campaign", "start", campaign)

    assert (result.exit_code, world.state(campaign)[0]) == (1, "draft")
    assert "recipient bob: subject: name: missing" in result.output


def test_another_total_than_expected_does_not_start(mailward: CommandLine, world: World, html: str) -> None:
    campaign = created(mailward, html)
    mailward.out("campaign", "upload", campaign, stdin=people(2))

    result = mailward("campaign", "start", campaign, "--expect", "3")

    assert (result.exit_code, world.state(campaign)[0], "has 2 recipients" in result.output) == (1, "draft", True)


def test_an_audience_can_come_from_the_store(mailward: CommandLine, world: World, html: str) -> None:
    world.store.put_many([("ann@example.com", b'{"name":"Ann","n":1}'), ("bob@example.com", b'{"name":"Bob","n":2}')])
    campaign = created(mailward, html, "--audience", "store", "--filter", "n=2")

    assert "1 recipients" in mailward.out("campaign", "start", campaign)
    world.move(campaign)

    assert dict(world.provider.mails) == {"bob@example.com": 1}


# --- pause, resume, cancel, clone ---


def test_a_campaign_is_paused_and_resumed(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)

    assert "0 calls in flight" in mailward.out("campaign", "pause", campaign, "--reason", "typing error")
    world.move(campaign)
    assert (world.provider.calls, world.state(campaign)) == ([], ("paused", "typing error"))

    mailward.out("campaign", "resume", campaign)
    world.move(campaign)
    assert world.status(campaign)["sent"] == 3


def test_a_cancel_asks_first(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)

    assert mailward("campaign", "cancel", campaign, stdin=b"n\n").exit_code == 1
    assert world.state(campaign)[0] == "running"
    mailward.out("campaign", "cancel", campaign, stdin=b"y\n")
    assert (world.state(campaign)[0], world.status(campaign)["skipped"]) == ("cancelled", 3)


def test_a_clone_takes_those_who_were_not_mailed(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    mailward.out("campaign", "cancel", campaign, "--yes")

    clone = mailward.out("campaign", "clone", campaign).strip()
    mailward.out("campaign", "start", clone, "--expect", "3")
    world.move(clone)

    assert set(world.provider.mails.values()) == {1}
    assert world.status(clone)["sent"] == 3


def test_a_campaign_that_does_not_exist_is_one_line(mailward: CommandLine, world: World) -> None:
    for command in ("pause", "resume", "status", "deliveries", "start", "watch", "clone"):
        result = mailward("campaign", command, "none")
        assert (result.exit_code, "there is no campaign none" in result.output) == (1, True), command


# --- status, deliveries, watch ---


def test_status_shows_counts_and_calls_that_need_a_decision(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    call = undecided(world, campaign)
    mailward.out("campaign", "pause", campaign)

    shown = mailward.out("campaign", "status", campaign)

    assert re.search(r"^state +paused", shown, re.MULTILINE)
    assert re.search(r"^reserved +3$", shown, re.MULTILINE)
    assert f"call {call}, 3 recipients, waits to be repeated" in shown
    assert json.loads(mailward.out("campaign", "status", campaign, "--json"))["stats"]["reserved"] == 3


def test_deliveries_say_who_did_not_get_it_and_why(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    mailward.out("campaign", "cancel", campaign, "--yes")

    rows = [json.loads(one) for one in mailward.out("campaign", "deliveries", campaign).splitlines()]

    assert {(row["status"], row["reason"]) for row in rows} == {("skipped", "cancelled")}
    assert {row["address"] for row in rows} == {f"reader{number:03}@example.com" for number in range(3)}
    assert mailward.out("campaign", "deliveries", campaign, "--status", "sent") == ""


def test_watch_ends_when_the_campaign_runs_no_more(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    world.move(campaign)
    mailward.out("campaign", "pause", campaign, "--reason", "enough")

    shown = mailward.out("campaign", "watch", campaign).splitlines()

    assert "100%  3/3" in shown[0]
    assert shown[-1] == "paused: enough"


def test_a_look_shows_share_rate_and_time_left() -> None:
    pace = Pace()
    pace.look(0, 0.0)
    pace.look(200, 2.0)
    stats = {"total": 12_200, "sent": 190, "failed": 10, "skipped": 0, "unknown": 0}

    assert line(stats, pace) == "[" + "-" * 30 + "]   2%  200/12200 (10 failed)  100/s  2 min 0 s left"


def test_a_look_at_the_first_moment_knows_no_rate() -> None:
    pace = Pace()
    pace.look(0, 0.0)
    stats = {"total": 10, "sent": 0, "failed": 0, "skipped": 0, "unknown": 0}

    assert line(stats, pace).endswith("0%  0/10")


# --- resolve ---


@pytest.mark.parametrize(
    ("choice", "risk", "count"), [("--assume-sent", "get no mail", "sent"), ("--resend", "second mail", "remaining")]
)
def test_a_decision_states_its_risk_and_asks(
    mailward: CommandLine, world: World, html: str, choice: str, risk: str, count: str
) -> None:
    campaign = running(mailward, html)
    call = str(undecided(world, campaign))
    mailward.out("campaign", "pause", campaign)

    refused = mailward("campaign", "resolve", call, choice, stdin=b"n\n")
    before = world.status(campaign)["reserved"]
    done = mailward("campaign", "resolve", call, choice, stdin=b"y\n")

    assert (refused.exit_code, risk in refused.output, before) == (1, True, 3)
    assert (done.exit_code, world.status(campaign)[count]) == (0, 3)


def test_a_decision_must_be_named(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    call = str(undecided(world, campaign))
    mailward.out("campaign", "pause", campaign)

    assert mailward("campaign", "resolve", call, "--yes").exit_code == 2
    assert world.status(campaign)["reserved"] == 3


# --- test mail ---


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[SandboxServer]:
    with SandboxServer(tmp_path / "sandbox") as server:
        yield server


def test_a_test_mail_goes_through_the_provider_to_one_address(
    mailward: CommandLine, world: World, html: str, sandbox: SandboxServer
) -> None:
    mailward.environ |= {"RESEND_API_KEY": API_KEY, "RESEND_API_URL": sandbox.url}
    campaign = created(mailward, html)

    shown = mailward.out("campaign", "test-mail", campaign, "me@example.com", "--field", "name=Me")

    assert re.search(r"^result +accepted", shown, re.MULTILINE)
    assert len(sandbox.arrivals()) == 1
    assert world.status(campaign)["total"] == 0


def test_without_a_key_there_is_no_test_mail(mailward: CommandLine, html: str) -> None:
    result = mailward("campaign", "test-mail", created(mailward, html), "me@example.com", "--field", "name=Me")

    assert (result.exit_code, "RESEND_API_KEY is not set" in result.output) == (1, True)


# --- ledger ---


def test_a_ledger_that_never_sent_has_nothing_to_adopt(mailward: CommandLine) -> None:
    assert "this is the ledger that sends here" in mailward.out("ledger", "show")


def test_a_ledger_that_has_fallen_behind_is_shown_and_adopted(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    with world.engine.begin() as connection:
        ours = identity.own(connection)
    world.ledger_key.adopt(Identity(ours.ledger_id, 70))  # it had been further before it was restored
    world.move(campaign)
    assert (world.state(campaign)[0], world.provider.calls) == ("paused", [])

    shown = mailward("ledger", "show")
    assert (shown.exit_code, "restored backup" in shown.output) == (1, True)
    assert mailward("ledger", "adopt", stdin=b"n\n").exit_code == 1
    world.move(campaign)
    assert world.provider.calls == []

    adopted = mailward("ledger", "adopt", stdin=b"y\n")
    assert (adopted.exit_code, "may be" in adopted.output) == (0, True)
    assert world.state(campaign)[0] == "paused"
    mailward.out("campaign", "resume", campaign)
    world.move(campaign)
    assert world.status(campaign)["sent"] == 3
    assert world.rows("SELECT count(*) FROM operator_action WHERE action = 'adopt'") == [(1,)]


def test_a_foreign_ledger_is_replaced_by_an_adoption(mailward: CommandLine, world: World, html: str) -> None:
    campaign = running(mailward, html)
    world.ledger_key.adopt(Identity("another", 7))
    world.move(campaign)
    assert world.state(campaign)[0] == "paused"

    mailward.out("ledger", "adopt", "--yes")
    mailward.out("campaign", "resume", campaign)
    world.move(campaign)

    assert world.status(campaign)["sent"] == 3
