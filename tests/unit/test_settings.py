"""The settings, and config/example.env as their one complete description."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest

from config.provider_settings import ProviderSettings
from config.settings import Settings, SettingsError, load, masked

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "example.env"
PACKAGES = ("config", "core", "providers", "webhook", "consumer", "ops")
# Where a process begins and hands its environment to `load`; nobody else may read it.
ROOTS = {"config/gunicorn.conf.py", "webhook/wsgi.py", "consumer/__main__.py", "ops/cli.py", "ops/check.py"}


class Recording(Mapping[str, str]):
    """An empty environment that remembers what was asked of it."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def example(*, optional: bool) -> dict[str, str]:
    """The settings of example.env; with `optional` those that it shows behind a # too."""
    pattern = r"^#?([A-Z][A-Z0-9_]*)=(.*)$" if optional else r"^([A-Z][A-Z0-9_]*)=(.*)$"
    return dict(re.findall(pattern, EXAMPLE.read_text(), flags=re.MULTILINE))


def test_every_variable_that_is_read_is_in_example_env_and_no_other_is() -> None:
    environ = Recording()

    load(environ)

    assert set(example(optional=True)) == environ.asked


def test_every_setting_of_example_env_has_a_comment_above_it() -> None:
    lines = EXAMPLE.read_text().splitlines()

    bare = [line for above, line in pairwise(lines) if is_setting(line) and not above.startswith("# ")]

    assert bare == []


def is_setting(line: str) -> bool:
    return re.match(r"#?[A-Z][A-Z0-9_]*=", line) is not None


def test_the_environment_is_read_where_a_process_begins_and_nowhere_else() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\bos\.environ\b|\bgetenv\b", path.read_text())
    }

    assert readers == ROOTS


def test_example_env_as_it_is_gives_the_defaults() -> None:
    assert load(example(optional=False)) == load({})


def test_the_examples_of_example_env_are_valid_settings() -> None:
    settings = load(example(optional=True))

    assert len(settings.resend_webhook_secrets) == len(settings.cloudflare_webhook_secrets) == 1


def test_all_faults_are_reported_at_once_and_in_words() -> None:
    environ = {"AMQP_URL": "http://example.com", "BATCH_SIZE": "many", "RESEND_WEBHOOK_SECRETS": "", "PORT": "0"}

    with pytest.raises(SettingsError) as caught:
        load(environ)

    assert sorted(fault.split()[0] for fault in caught.value.faults) == sorted(environ)
    assert "must be a whole number from 1 to 65535" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MAILWARD_ENV", "Prod!"),
        ("AMQP_URL", "amqp://"),
        ("AMQP_URL", "amqp://host:port/"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_TLS_VERIFY", "maybe"),
        ("DATABASE_URL", "mysql://example.com/db"),
        ("DATABASE_SCHEMA", "my schema"),
        ("RECIPIENT_KEY", "recipient"),
        ("RECIPIENT_KEY", "{address}:{address}"),
        ("ADDRESS_KEEP_LOCAL_CASE", ""),
        ("RETRY_DELAYS", "60,10"),
        ("RETRY_DELAYS", "10"),
        ("BATCH_SIZE", "0"),
        ("API_TOKENS", "short"),
        ("API_TOKENS", "long enough but with blanks"),
        ("UNSUBSCRIBE_SECRETS", "short"),
        ("RESEND_API_KEY", "re_1 23"),
        ("RESEND_API_URL", "api.resend.com"),
        ("SIGNATURE_TOLERANCE", "-5"),
        ("RESEND_WEBHOOK_SECRETS", "whsec_!!!"),
        ("RESEND_WEBHOOK_SECRETS", "whsec_c2hvcnQ="),
        ("RESEND_SUPPRESSED_IS_HARD", "2"),
        ("RESEND_UNKNOWN_PERMANENT_IS_HARD", "si"),
        ("CLOUDFLARE_WEBHOOK_SECRETS", " , "),
        ("LOG_LEVEL", "LOUD"),
        ("PORT", "65536"),
        ("WEB_CONCURRENCY", "1000"),
    ],
)
def test_a_wrong_value_is_one_fault_that_names_its_variable(name: str, text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({name: text})

    assert [fault.split()[0] for fault in caught.value.faults] == [name]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CLOUDAMQP_URL": "amqps://u:p@a.example.com/u"}, "amqps://u:p@a.example.com/u"),
        ({"AMQP_URL": "amqp://b.example.com", "CLOUDAMQP_URL": "amqps://a.example.com/u"}, "amqp://b.example.com"),
        ({"AMQP_URL": "", "CLOUDAMQP_URL": "amqps://a.example.com/u"}, "amqps://a.example.com/u"),
        ({}, "amqp://guest:guest@127.0.0.1:5672/%2F"),
    ],
)
def test_amqp_url_comes_before_cloudamqp_url(environ: dict[str, str], expected: str) -> None:
    assert load(environ).amqp_url == expected


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_form_of_a_postgresql_url_means_the_same_driver(scheme: str) -> None:
    url = load({"DATABASE_URL": f"{scheme}://u:p@db.example.com:5432/d?sslmode=require"}).database_url

    assert url == "postgresql+psycopg://u:p@db.example.com:5432/d?sslmode=require"


def test_masked_settings_show_no_secret_and_every_name() -> None:
    settings = load(
        {
            "AMQP_URL": "amqps://user:broker-word@a.example.com/v",
            "REDIS_URL": "rediss://:redis-word@r.example.com:6380/0",
            "DATABASE_URL": "postgres://user:sql-word@d.example.com/d?password=query-word",
            "API_TOKENS": "token-word-token-word",
            "UNSUBSCRIBE_SECRETS": "unsubscribe-word-unsubscribe",
            "RESEND_API_KEY": "re_key-word",
            "ALERT_WEBHOOK_URL": "https://hooks.example.com/services/path-word",
            "RESEND_WEBHOOK_SECRETS": "whsec_cmVzZW5kLXdvcmQtcmVzZW5kLXdvcmQ=",
            "CLOUDFLARE_WEBHOOK_SECRETS": "whsec_Y2xvdWQtd29yZC1jbG91ZC13b3Jk",
            "CLOUDFLARE_API_TOKEN": "cloudflare-word",
            "CLOUDFLARE_QUEUE_ID": "made-up-queue",
            "CLOUDFLARE_ACCOUNT_ID": "made-up-account",
            "MAILGUN_SIGNING_KEYS": "mailgun-word",
            "POSTMARK_WEBHOOK_CREDENTIALS": "postmark:a-long-enough-word",
        }
    )

    shown = masked(settings)

    names = {one.name for one in (*fields(Settings), *fields(ProviderSettings))}
    assert set(shown) == names - {"providers"}
    assert not re.search("word|whsec|Y2xvd|cmVzZ", str(shown))
    assert "a.example.com" in str(shown)


PULLING = {"CLOUDFLARE_API_TOKEN": "token", "CLOUDFLARE_QUEUE_ID": "queue", "CLOUDFLARE_ACCOUNT_ID": "account"}


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        (["CLOUDFLARE_API_TOKEN"], "CLOUDFLARE_QUEUE_ID and CLOUDFLARE_ACCOUNT_ID"),
        (["CLOUDFLARE_QUEUE_ID"], "CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID"),
        (["CLOUDFLARE_API_TOKEN", "CLOUDFLARE_QUEUE_ID"], "CLOUDFLARE_ACCOUNT_ID"),
        (["CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID"], "CLOUDFLARE_QUEUE_ID"),
        (["CLOUDFLARE_QUEUE_ID", "CLOUDFLARE_ACCOUNT_ID"], "CLOUDFLARE_API_TOKEN"),
    ],
)
def test_a_queue_that_is_named_in_part_is_one_fault_that_says_what_is_missing(given: list[str], missing: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({name: PULLING[name] for name in given})

    (fault,) = caught.value.faults
    assert fault.startswith(f"{missing} must be set too")


@pytest.mark.parametrize("given", [[], ["CLOUDFLARE_ACCOUNT_ID"], list(PULLING)])
def test_a_queue_is_named_in_full_or_not_at_all(given: list[str]) -> None:
    assert load({name: PULLING[name] for name in given}).cloudflare_account_id in ("", "account")


def test_a_malformed_token_is_not_called_missing_as_well() -> None:
    with pytest.raises(SettingsError) as caught:
        load(PULLING | {"CLOUDFLARE_API_TOKEN": "two words"})

    assert [fault.split()[0] for fault in caught.value.faults] == ["CLOUDFLARE_API_TOKEN"]
