"""Every provider there is, in one visible table: its name in the address of the webhook, and its module.

A provider without its secret is not made at all: its door does not exist.
"""

from collections.abc import Mapping

from config.settings import Settings, SettingsError
from providers import (
    brevo,
    cloudflare,
    mailersend,
    mailgun,
    mailjet,
    mailtrap,
    mandrill,
    postal,
    postmark,
    resend,
    scaleway,
    sendgrid,
    ses,
    sparkpost,
    unisender_go,
)
from providers.base import Provider
from providers.entry import Entry, Fetch
from providers.fetching import https_get

PROVIDERS: Mapping[str, Entry] = {
    "brevo": brevo.ENTRY,
    "cloudflare": cloudflare.ENTRY,
    "mailersend": mailersend.ENTRY,
    "mailgun": mailgun.ENTRY,
    "mailjet": mailjet.ENTRY,
    "mailtrap": mailtrap.ENTRY,
    "mandrill": mandrill.ENTRY,
    "postal": postal.ENTRY,
    "postmark": postmark.ENTRY,
    "resend": resend.ENTRY,
    "scaleway": scaleway.ENTRY,
    "sendgrid": sendgrid.ENTRY,
    "ses": ses.ENTRY,
    "sparkpost": sparkpost.ENTRY,
    "unisender_go": unisender_go.ENTRY,
}


def known_names() -> tuple[str, ...]:
    """The names of all providers, configured or not."""
    return tuple(PROVIDERS)


def configured(settings: Settings, fetch: Fetch = https_get) -> dict[str, Provider]:
    """Name → provider, of those that have a secret in `settings`; `fetch` gets them certificates.

    Raises SettingsError with the fault of every provider whose secret has the right form and is none of its own.
    """
    made: dict[str, Provider] = {}
    faults: list[str] = []
    for name, entry in PROVIDERS.items():
        try:
            provider = entry.make(settings, fetch)
        except ValueError as error:
            faults.append(str(error))
            continue
        if provider is not None:
            made[name] = provider
    if faults:
        raise SettingsError(faults)
    return made


def missing(name: str) -> str:
    """What is missing for provider `name` to exist, in words for the log line of a 404."""
    entry = PROVIDERS.get(name)
    if entry is None:
        return f"no such provider; there are {', '.join(PROVIDERS)}"
    return f"{entry.setting} is not set"
