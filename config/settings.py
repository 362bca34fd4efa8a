"""Every setting, typed, read once from the environment; all faults are reported together, in plain words."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields

from config import parsers, provider_settings
from config.parsers import Reader, SettingsError
from config.provider_settings import SECRET, ProviderSettings

__all__ = ["Settings", "SettingsError", "load", "masked"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole configuration of a process. Durations are seconds; secrets are tuples so that two can live at once."""

    env: str
    amqp_url: str = field(metadata=SECRET)
    redis_url: str = field(metadata=SECRET)
    redis_tls_verify: bool
    database_url: str = field(metadata=SECRET)
    database_schema: str
    recipient_key: str
    keep_local_case: bool
    retry_delays_s: tuple[int, ...]
    batch_size: int
    api_tokens: tuple[str, ...] = field(metadata=SECRET)
    unsubscribe_secrets: tuple[str, ...] = field(metadata=SECRET)
    resend_api_key: str = field(metadata=SECRET)
    resend_api_url: str
    signature_tolerance_s: int
    resend_webhook_secrets: tuple[str, ...] = field(metadata=SECRET)
    resend_suppressed_is_hard: bool
    resend_unknown_permanent_is_hard: bool
    cloudflare_webhook_secrets: tuple[str, ...] = field(metadata=SECRET)
    cloudflare_account_id: str
    cloudflare_domains: tuple[str, ...]
    providers: ProviderSettings
    send_concurrency: int
    send_rate: int
    alert_webhook_url: str = field(metadata=SECRET)
    alert_webhook_format: str
    log_level: str
    port: int
    web_concurrency: int


def load(environ: Mapping[str, str]) -> Settings:
    """Read all settings from `environ`; raises SettingsError, which lists every fault at once."""
    env = Reader(environ)
    settings = Settings(
        env=env.read("MAILWARD_ENV", parsers.environment_name, "development"),
        amqp_url=env.read_first(
            ("AMQP_URL", "CLOUDAMQP_URL"), parsers.amqp_url, "amqp://guest:guest@127.0.0.1:5672/%2F"
        ),
        redis_url=env.read("REDIS_URL", parsers.redis_url, "redis://127.0.0.1:6379/0"),
        redis_tls_verify=env.read("REDIS_TLS_VERIFY", parsers.boolean, "true"),
        database_url=env.read("DATABASE_URL", parsers.database_url, "sqlite:///.mailward/mailward.sqlite3"),
        database_schema=env.read("DATABASE_SCHEMA", parsers.identifier_or_empty, ""),
        recipient_key=env.read("RECIPIENT_KEY", parsers.key_template, "recipient:{address}"),
        keep_local_case=env.read("ADDRESS_KEEP_LOCAL_CASE", parsers.boolean, "false"),
        retry_delays_s=env.read("RETRY_DELAYS", parsers.two_delays, "10,60"),
        batch_size=env.read("BATCH_SIZE", parsers.integer(1, 2000), "2000"),
        api_tokens=env.read("API_TOKENS", parsers.tokens, ""),
        unsubscribe_secrets=env.read("UNSUBSCRIBE_SECRETS", parsers.tokens, ""),
        resend_api_key=env.read("RESEND_API_KEY", parsers.key_or_empty, ""),
        resend_api_url=env.read("RESEND_API_URL", parsers.http_url, "https://api.resend.com"),
        signature_tolerance_s=env.read("SIGNATURE_TOLERANCE", parsers.integer(30, 86_400), "300"),
        resend_webhook_secrets=env.read_secrets("RESEND_WEBHOOK_SECRETS", parsers.webhook_secrets),
        resend_suppressed_is_hard=env.read("RESEND_SUPPRESSED_IS_HARD", parsers.boolean, "true"),
        resend_unknown_permanent_is_hard=env.read("RESEND_UNKNOWN_PERMANENT_IS_HARD", parsers.boolean, "false"),
        cloudflare_webhook_secrets=env.read_secrets("CLOUDFLARE_WEBHOOK_SECRETS", parsers.webhook_secrets),
        cloudflare_account_id=env.read("CLOUDFLARE_ACCOUNT_ID", str.strip, ""),
        cloudflare_domains=env.read("CLOUDFLARE_DOMAINS", parsers.words, ""),
        providers=provider_settings.load(env),
        send_concurrency=env.read("SEND_CONCURRENCY", parsers.integer(1, 32), "2"),
        send_rate=env.read("SEND_RATE", parsers.integer(0, 10_000), "2"),
        alert_webhook_url=env.read("ALERT_WEBHOOK_URL", parsers.webhook_url_or_empty, ""),
        alert_webhook_format=env.read("ALERT_WEBHOOK_FORMAT", parsers.alert_format, "slack"),
        log_level=env.read("LOG_LEVEL", parsers.log_level, "INFO"),
        port=env.read("PORT", parsers.integer(1, 65_535), "8000"),
        web_concurrency=env.read("WEB_CONCURRENCY", parsers.integer(1, 64), "2"),
    )
    _check_pulling(env, settings)
    env.raise_faults()
    return settings


def _check_pulling(env: Reader, settings: Settings) -> None:
    """The account id alone is none of pulling: it also says whose posted events are believed."""
    needed = {
        "CLOUDFLARE_API_TOKEN": settings.providers.cloudflare_api_token,
        "CLOUDFLARE_QUEUE_ID": settings.providers.cloudflare_queue_id,
        "CLOUDFLARE_ACCOUNT_ID": settings.cloudflare_account_id,
    }
    missing = [name for name, value in needed.items() if value == ""]
    if missing and (settings.providers.cloudflare_api_token or settings.providers.cloudflare_queue_id):
        env.fault(f"{' and '.join(missing)} must be set too: a queue is pulled with all of {', '.join(needed)}")


def masked(settings: Settings) -> dict[str, object]:
    """The settings as name → value for printing, with secrets and passwords replaced by ***."""
    groups = (settings, settings.providers)
    named = {one: getattr(group, one.name) for group in groups for one in fields(group)}
    return {one.name: _shown(one, value) for one, value in named.items() if value is not settings.providers}


def _shown(one: Field[object], value: object) -> object:
    if not one.metadata.get("secret"):
        return value
    if isinstance(value, tuple):
        return f"{len(value)} set"
    is_address = one.name.endswith("_url") and "webhook" not in one.name  # of a webhook, the path is the secret
    return parsers.mask_url(str(value)) if is_address else "***" if value else ""
