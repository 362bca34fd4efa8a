"""The table of providers: which exist under given settings, and what the log says of those that do not."""

import pytest

from config.settings import load
from core.events import Kind
from providers import registry
from tests.unit.providers.payloads import posted, recorded
from tests.unit.providers.security_cases import SECRET


def test_without_secrets_no_provider_exists() -> None:
    assert registry.configured(load({})) == {}


@pytest.mark.parametrize("name", registry.known_names())
def test_the_secret_alone_makes_a_provider_exist_under_its_own_name(name: str) -> None:
    made = registry.configured(load({registry.PROVIDERS[name].setting: SECRET}))

    assert [(key, provider.name) for key, provider in made.items()] == [(name, name)]


@pytest.mark.parametrize("name", registry.known_names())
def test_the_log_names_the_setting_that_is_missing(name: str) -> None:
    assert registry.missing(name) == f"{name.upper()}_WEBHOOK_SECRETS is not set"


def test_the_log_names_the_providers_there_are_for_an_unknown_one() -> None:
    assert registry.missing("nobody") == "no such provider; there are cloudflare, resend"


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
