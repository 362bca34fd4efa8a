"""The doctor on settings: readable they are by now; these are about what they add up to."""

from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from sqlalchemy import make_url

from config.settings import Settings, SettingsError
from ops.findings import Finding, fail, ok, warn
from providers import registry

PLATFORM_VARIABLE = "DYNO"  # set by Heroku in every dyno
_LOCAL = ("127.0.0.1", "localhost", "::1")


def findings(settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Findings about `settings`; `environ` says whether this is a Heroku dyno."""
    yield ok("settings", f"environment {settings.env}")
    yield from _providers(settings)
    if settings.api_tokens:
        yield ok("settings", f"API_TOKENS: {len(settings.api_tokens)} set")
    else:
        yield warn("settings", "API_TOKENS is not set, so there is no JSON API", "Set a token of 16 characters or more")
    dyno = bool(environ.get(PLATFORM_VARIABLE))
    production = settings.env == "production"
    if dyno and not production:
        yield warn(
            "settings",
            f"this is a dyno, but MAILWARD_ENV is {settings.env}",
            "Set MAILWARD_ENV=production (queue names change with it), unless this app is a rehearsal",
        )
    yield from _database(settings, dyno, production)
    if dyno or production:
        yield from _defaults(settings)


def _providers(settings: Settings) -> Iterator[Finding]:
    try:
        configured = registry.configured(settings)
    except SettingsError as error:
        for fault in error.faults:
            yield fail("providers", fault, "Until then the web process does not start; config/example.env explains it")
        return
    for name in configured:
        yield ok("providers", f"{name} posts to /webhooks/{name}")
    if settings.providers.cloudflare_api_token:
        yield ok("providers", "cloudflare is pulled by the process cloudflare")
    elif not configured:
        variables = " or ".join(entry.setting for entry in registry.PROVIDERS.values())
        yield fail("providers", "none is configured, so every webhook is answered 404", f"Set {variables}")


def _database(settings: Settings, dyno: bool, production: bool) -> Iterator[Finding]:
    url = make_url(settings.database_url)
    if url.get_backend_name() != "sqlite":
        return
    if dyno:
        yield fail(
            "settings",
            "DATABASE_URL is a SQLite file on a dyno, whose disk nobody shares and which is emptied every day",
            "Add PostgreSQL: heroku addons:create heroku-postgresql",
        )
    elif production:
        yield warn(
            "settings",
            f"DATABASE_URL is the SQLite file {url.database}",
            "Fine while all processes run on this one machine and the file is backed up; else use PostgreSQL",
        )


def _defaults(settings: Settings) -> Iterator[Finding]:
    for name, url in (("AMQP_URL", settings.amqp_url), ("REDIS_URL", settings.redis_url)):
        if urlsplit(url).hostname in _LOCAL:
            yield warn("settings", f"{name} points at this machine", f"Set {name} unless the service does run here")
    if settings.redis_url.startswith("rediss://") and not settings.redis_tls_verify:
        yield ok("settings", "REDIS_TLS_VERIFY is off: encrypted, but whoever answers is believed to be Redis")
