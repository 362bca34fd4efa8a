"""The doctor on settings: what they add up to."""

import pytest

from config.settings import load
from ops.check_settings import findings
from ops.findings import Finding, Level

PRODUCTION = {
    "MAILWARD_ENV": "production",
    "AMQP_URL": "amqps://user:password@broker.example.com/v",
    "REDIS_URL": "rediss://:password@redis.example.com:6380/0",
    "DATABASE_URL": "postgres://user:password@sql.example.com/d",
    "API_TOKENS": "a-token-of-some-length",
    "RESEND_WEBHOOK_SECRETS": "whsec_bWFkZS11cC1mb3ItdGhlLXRlc3Rz",
}


def problems(environ: dict[str, str], **platform: str) -> list[Finding]:
    return [one for one in findings(load(environ), platform) if one.level is not Level.OK]


def test_settings_fit_for_production_are_all_ok() -> None:
    assert problems(PRODUCTION, DYNO="web.1") == []


@pytest.mark.parametrize(
    ("change", "platform", "level", "text"),
    [
        ({"RESEND_WEBHOOK_SECRETS": None}, {}, Level.FAIL, "none is configured"),
        ({"API_TOKENS": None}, {}, Level.WARN, "no JSON API"),
        ({"DATABASE_URL": "sqlite:////data/m.sqlite3"}, {}, Level.WARN, "SQLite file /data/m.sqlite3"),
        ({"DATABASE_URL": "sqlite:////data/m.sqlite3"}, {"DYNO": "web.1"}, Level.FAIL, "SQLite file on a dyno"),
        ({"MAILWARD_ENV": "development"}, {"DYNO": "web.1"}, Level.WARN, "MAILWARD_ENV is development"),
        ({"AMQP_URL": "amqp://localhost"}, {}, Level.WARN, "AMQP_URL points at this machine"),
        ({"REDIS_URL": None}, {}, Level.WARN, "REDIS_URL points at this machine"),
    ],
)
def test_one_weakness_is_one_finding_that_says_what_to_do(
    change: dict[str, str | None], platform: dict[str, str], level: Level, text: str
) -> None:
    environ = {name: value for name, value in (PRODUCTION | change).items() if value is not None}

    (found,) = problems(environ, **platform)

    assert (found.level, text in found.text, bool(found.action)) == (level, True, True)


def test_no_finding_shows_a_secret() -> None:
    shown = str(list(findings(load(PRODUCTION), {})))

    assert not any(secret in shown for secret in ("password", "a-token-of-some-length", "whsec_"))
