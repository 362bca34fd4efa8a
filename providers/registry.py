"""Every provider there is, in one visible table: its name in the address of the webhook, and how it is made.

A provider without its secret is not made at all: its door does not exist.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from config.settings import Settings
from providers.base import Provider
from providers.cloudflare import Cloudflare
from providers.resend import Resend


@dataclass(frozen=True, slots=True)
class Entry:
    """How a provider is made, and the environment variable without which it is not."""

    setting: str
    make: Callable[[Settings], Provider | None]


def _resend(settings: Settings) -> Provider | None:
    if not settings.resend_webhook_secrets:
        return None
    return Resend(
        settings.resend_webhook_secrets,
        tolerance_s=settings.signature_tolerance_s,
        keep_local_case=settings.keep_local_case,
        suppressed_is_hard=settings.resend_suppressed_is_hard,
        unknown_permanent_is_hard=settings.resend_unknown_permanent_is_hard,
    )


def _cloudflare(settings: Settings) -> Provider | None:
    if not settings.cloudflare_webhook_secrets:
        return None
    return Cloudflare(
        settings.cloudflare_webhook_secrets,
        tolerance_s=settings.signature_tolerance_s,
        keep_local_case=settings.keep_local_case,
        account_id=settings.cloudflare_account_id,
        domains=settings.cloudflare_domains,
    )


PROVIDERS: Mapping[str, Entry] = {
    "cloudflare": Entry("CLOUDFLARE_WEBHOOK_SECRETS", _cloudflare),
    "resend": Entry("RESEND_WEBHOOK_SECRETS", _resend),
}


def known_names() -> tuple[str, ...]:
    """The names of all providers, configured or not."""
    return tuple(PROVIDERS)


def configured(settings: Settings) -> dict[str, Provider]:
    """Name → provider, of those that have a secret in `settings`."""
    made = ((name, entry.make(settings)) for name, entry in PROVIDERS.items())
    return {name: provider for name, provider in made if provider is not None}


def missing(name: str) -> str:
    """What is missing for provider `name` to exist, in words for the log line of a 404."""
    entry = PROVIDERS.get(name)
    if entry is None:
        return f"no such provider; there are {', '.join(PROVIDERS)}"
    return f"{entry.setting} is not set"
