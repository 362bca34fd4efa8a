"""The table of providers: which exist under given settings, and what the log says of those that do not."""

import base64
from pathlib import Path

import pytest

from config.settings import SettingsError, load
from core.events import Kind
from providers import registry
from tests.unit.providers.payloads import posted, recorded
from tests.unit.providers.security_cases import SECRET


def example(setting: str) -> str:
    """The value of `setting` in config/example.env."""
    lines = (Path(__file__).parents[3] / "config" / "example.env").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(f"#{setting}="))


def test_without_secrets_no_provider_exists() -> None:
    assert registry.configured(load({})) == {}


# Provider → what its setting may hold, and what must be set beside it; for all others, SECRET.
SECRETS = {
    "mandrill": {
        "MANDRILL_WEBHOOK_KEYS": SECRET,
        "MANDRILL_WEBHOOK_URLS": "https://mail.example.com/webhooks/mandrill",
    },
    "postal": {"POSTAL_PUBLIC_KEYS": example("POSTAL_PUBLIC_KEYS")},
    "scaleway": {"SCALEWAY_TOPIC_ARNS": example("SCALEWAY_TOPIC_ARNS")},
    "sendgrid": {"SENDGRID_WEBHOOK_KEYS": example("SENDGRID_WEBHOOK_KEYS")},
    "ses": {"SES_TOPIC_ARNS": example("SES_TOPIC_ARNS")},
}


@pytest.mark.parametrize("name", registry.known_names())
def test_its_secret_makes_a_provider_exist_under_its_own_name_and_no_other(name: str) -> None:
    made = registry.configured(load(SECRETS.get(name, {registry.PROVIDERS[name].setting: SECRET})))

    assert [(key, provider.name) for key, provider in made.items()] == [(name, name)]


@pytest.mark.parametrize("name", registry.known_names())
def test_the_log_names_the_setting_that_is_missing(name: str) -> None:
    assert registry.missing(name) == f"{registry.PROVIDERS[name].setting} is not set"


def test_the_log_names_the_providers_there_are_for_an_unknown_one() -> None:
    assert registry.missing("nobody") == f"no such provider; there are {', '.join(sorted(registry.PROVIDERS))}"


def test_the_faults_of_all_providers_are_told_at_once() -> None:
    nobodys_key = base64.b64encode(b"no key at all" * 10).decode()
    environ = {
        "POSTAL_PUBLIC_KEYS": nobodys_key,
        "SENDGRID_WEBHOOK_KEYS": nobodys_key,
        "RESEND_WEBHOOK_SECRETS": SECRET,
    }

    with pytest.raises(SettingsError) as error:
        registry.configured(load(environ))

    assert [fault.partition(" ")[0] for fault in error.value.faults] == ["POSTAL_PUBLIC_KEYS", "SENDGRID_WEBHOOK_KEYS"]


def test_the_settings_reach_the_provider() -> None:
    environ = {
        "RESEND_WEBHOOK_SECRETS": SECRET,
        "RESEND_SUPPRESSED_IS_HARD": "false",
        "CLOUDFLARE_WEBHOOK_SECRETS": SECRET,
        "CLOUDFLARE_ACCOUNT_ID": "somebody-else",
        "ADDRESS_KEEP_LOCAL_CASE": "true",
    }
    made = registry.configured(load(environ))
    suppressed = made["resend"].normalise(posted(recorded("resend", "bounced_permanent_suppressed")))
    named = made["resend"].normalise(posted(recorded("resend", "bounced_display_name")))

    assert suppressed.events[0].kind is Kind.REJECTED
    assert named.events[0].recipient == "Jane.Doe@example.com"
    assert made["cloudflare"].normalise(posted(recorded("cloudflare", "complained"))).parked
