"""The one place that knows which send API the settings name."""

from config.settings import Settings
from sender.clients.base import Client
from sender.clients.resend import POOL_SIZE, Resend


def client(settings: Settings, pool_size: int = POOL_SIZE) -> Client | None:
    """The provider's client; None where the settings hold no key for one."""
    if not settings.resend_api_key:
        return None
    return Resend(settings.resend_api_key, settings.resend_api_url, pool_size=pool_size)
