"""Every provider there is, in one visible table: its name in the address of the webhook, and its module.

A provider without its secret is not made at all: its door does not exist.
"""

from collections.abc import Mapping

from config.settings import Settings
from providers import cloudflare, resend
from providers.base import Provider
from providers.entry import Entry, Fetch
from providers.fetching import https_get

PROVIDERS: Mapping[str, Entry] = {
    "cloudflare": cloudflare.ENTRY,
    "resend": resend.ENTRY,
}


def known_names() -> tuple[str, ...]:
    """The names of all providers, configured or not."""
    return tuple(PROVIDERS)


def configured(settings: Settings, fetch: Fetch = https_get) -> dict[str, Provider]:
    """Name → provider, of those that have a secret in `settings`; `fetch` gets them certificates."""
    made = ((name, entry.make(settings, fetch)) for name, entry in PROVIDERS.items())
    return {name: provider for name, provider in made if provider is not None}


def missing(name: str) -> str:
    """What is missing for provider `name` to exist, in words for the log line of a 404."""
    entry = PROVIDERS.get(name)
    if entry is None:
        return f"no such provider; there are {', '.join(PROVIDERS)}"
    return f"{entry.setting} is not set"
