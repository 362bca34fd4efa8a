"""Reading a body without its proof: any provider there is, made with stand-ins for the secrets that nobody needs then.

For explaining, never for believing: whoever makes a provider here must not let it verify anything.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, NoReturn

from cryptography.hazmat.primitives.asymmetric import ec, rsa

from config.settings import Settings
from providers.base import ProofUnavailable, Provider
from providers.public_keys import written
from providers.registry import PROVIDERS

SECRET = "whsec_c3RhbmQtaW4gb2YgYSBzZWNyZXQ="  # noqa: S105 - the point of it is that it is none
AWS_TOPIC = "arn:aws:sns:eu-west-1:123456789012:nobody"
SCALEWAY_TOPIC = "arn:scw:sns:fr-par:project-00000000-0000-0000-0000-000000000000:nobody"
URL = "https://mail.example.com/webhooks/nobody"


def reader(name: str, settings: Settings) -> Provider:
    """The known provider `name` as `settings` (switches, forms of addresses) have it read, configured or not.

    It reaches nothing. Raises KeyError for a name that is not in the registry, ValueError, in words for an operator,
    where a topic that is set is none of this provider.
    """
    entry = PROVIDERS[name]
    made = entry.make(with_stand_ins(settings, entry.setting), _nothing_is_fetched)
    if made is None:
        raise ValueError(f"{entry.setting} alone does not make {name}")
    return made


def with_stand_ins(settings: Settings, setting: str) -> Settings:
    """`settings` with a value for `setting` that makes its provider and proves nothing, whatever stood there."""
    name = setting.lower()
    is_own = hasattr(settings, name)
    if setting.endswith("_TOPIC_ARNS") and getattr(settings if is_own else settings.providers, name):
        return settings  # no secret, and which subscription would be confirmed depends on it
    values: dict[str, Any] = {name: (_STAND_INS.get(setting, lambda: SECRET)(),)}
    if setting == "MANDRILL_WEBHOOK_KEYS":
        values["mandrill_webhook_urls"] = (URL,)
    return replace(settings, **values) if is_own else replace(settings, providers=replace(settings.providers, **values))


def _nothing_is_fetched(url: str) -> NoReturn:
    raise ProofUnavailable(f"{url} is not fetched: only a proof needs it")


@cache
def _elliptic_key() -> str:
    return written(ec.generate_private_key(ec.SECP256R1()).public_key())


@cache
def _rsa_key() -> str:
    return written(rsa.generate_private_key(65_537, 2048).public_key())


_STAND_INS: Mapping[str, Callable[[], str]] = {
    "SES_TOPIC_ARNS": lambda: AWS_TOPIC,
    "SCALEWAY_TOPIC_ARNS": lambda: SCALEWAY_TOPIC,
    "SENDGRID_WEBHOOK_KEYS": _elliptic_key,
    "POSTAL_PUBLIC_KEYS": _rsa_key,
}
