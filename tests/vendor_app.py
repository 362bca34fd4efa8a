"""The web process's application, but what it would fetch from the hosts of a vendor, it fetches from VENDOR_URL.

gunicorn is told to serve `tests.vendor_app:app`; see tests.vendor_hosts for what answers there.
"""

import os
from urllib.parse import urlsplit

from config import settings
from core.telemetry import Counters
from providers.fetching import https_get
from webhook.wsgi import application


def fetch(url: str) -> bytes:
    """As providers.fetching.https_get, from the path of VENDOR_URL that begins with the host of `url`."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return https_get(f"{os.environ['VENDOR_URL']}/{parts.netloc}{parts.path}{query}")


app = application(settings.load(os.environ), Counters(), fetch)
