"""`mailward classify`: without a service, a secret or a proof."""

import base64
import json
from pathlib import Path

import pytest

from config.settings import load
from core.events import Kind
from ops.explanation import explained
from providers.base import Provider
from providers.reading import reader
from providers.registry import PROVIDERS
from tests.command_line import CommandLine
from tests.unit.providers.payloads import RECEIVED_AT, posted, recorded

BOUNCED = recorded("resend", "bounced_permanent_suppressed")


@pytest.fixture
def mailward(tmp_path: Path) -> CommandLine:
    """The command line where no service answers and no provider is configured."""
    return CommandLine(
        {
            "AMQP_URL": "amqp://guest:guest@127.0.0.1:1/%2F",
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "DATABASE_URL": f"sqlite:///{tmp_path}/nowhere/mailward.sqlite3",
        }
    )


def test_a_body_on_standard_input_is_explained(mailward: CommandLine, tmp_path: Path) -> None:
    shown = mailward.out("classify", "resend", stdin=BOUNCED)

    assert "resend: 1 to remove" in shown
    assert "rule      resend.permanent_suppressed" in shown
    assert "RESEND_SUPPRESSED_IS_HARD=true; with false it would be rejected" in shown
    assert "proof skipped" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_body_in_a_file_is_explained_alike(mailward: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_bytes(BOUNCED)

    (item,) = json.loads(mailward.out("classify", "resend", str(tmp_path / "body.json"), "--json"))["items"]

    assert (item["kind"], item["rule"]) == ("hard_bounce", "resend.permanent_suppressed")


def test_the_switches_of_the_settings_count(mailward: CommandLine) -> None:
    mailward.environ["RESEND_SUPPRESSED_IS_HARD"] = "false"

    (item,) = json.loads(mailward.out("classify", "resend", "--json", stdin=BOUNCED))["items"]

    assert (item["kind"], item["effect"]) == ("rejected", "keep")


def test_a_header_of_the_post_can_be_given(mailward: CommandLine) -> None:
    shown = mailward.out("classify", "resend", "--header", "Svix-Id=msg_7", stdin=BOUNCED)

    assert "event id  resend:msg_7" in shown


def test_a_counted_item_names_its_rule(mailward: CommandLine) -> None:
    shown = mailward.out("classify", "resend", stdin=b'{"type": "email.opened", "data": {}}')

    assert "item 0: other" in shown
    assert "rule      resend.other" in shown


@pytest.mark.parametrize(
    ("body", "why"),
    [(b"", "the body is empty"), (b"{", "the body is not JSON"), (b"[1]", "the body is not a JSON object")],
)
def test_a_body_that_cannot_be_read_is_an_error_that_says_why(mailward: CommandLine, body: bytes, why: str) -> None:
    result = mailward("classify", "resend", stdin=body)

    assert result.exit_code == 1
    assert why in result.stderr


def test_a_body_over_the_providers_limit_is_an_error(mailward: CommandLine) -> None:
    result = mailward("classify", "resend", stdin=b" " * (2 * 1024 * 1024 + 1))

    assert result.exit_code == 1
    assert "would be refused" in result.stderr


# Settings that look right, so that only making the provider shows what they are.
NO_KEY = base64.b64encode(b"no key at all" * 10).decode()
OF_SOMEBODY_ELSE = "arn:aws:sns:eu-west-1:123456789012:nobody"


@pytest.mark.parametrize("name", ["sendgrid", "postal"])
def test_a_key_that_is_none_stops_the_list_of_providers_and_no_explanation(mailward: CommandLine, name: str) -> None:
    mailward.environ[PROVIDERS[name].setting] = NO_KEY

    listed = mailward("providers")

    assert listed.exit_code == 1
    assert f"{PROVIDERS[name].setting} holds a key" in listed.stderr
    assert f"{name}: 1 to " in mailward.out("classify", name, stdin=b'{"event": "invented"}')


@pytest.mark.parametrize("name", ["scaleway"])
def test_a_topic_of_somebody_else_is_an_error_in_words(mailward: CommandLine, name: str) -> None:
    mailward.environ[PROVIDERS[name].setting] = OF_SOMEBODY_ELSE

    result = mailward("classify", name, stdin=b"{}")

    assert result.exit_code == 1
    assert PROVIDERS[name].setting in result.stderr


def test_a_header_without_a_value_is_refused(mailward: CommandLine) -> None:
    result = mailward("classify", "resend", "--header", "svix-id", stdin=BOUNCED)

    assert result.exit_code == 2
    assert "is not name=value" in result.stderr


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_sample_of_every_provider_is_explained_with_the_rule_that_decided(name: str) -> None:
    provider, at = reader(name, load({})), RECEIVED_AT
    rules = [rule for table in PROVIDERS[name].tables.values() for rule in table.rules]
    kinds = [kind for kind in Kind if _tells(provider, kind)]

    for kind in kinds:
        said = provider.normalise(posted(provider.sample(kind, "jane@example.com", "evt_1", at)))
        (item,) = explained(said, rules)
        assert (item.kind, item.n) == (kind, 1)
        assert item.rule in rules
    assert kinds


def _tells(provider: Provider, kind: Kind) -> bool:
    try:
        return bool(provider.sample(kind, "jane@example.com", "evt_1", RECEIVED_AT))
    except ValueError:
        return False
