"""Cloudflare Email Sending events, forwarded by a Worker (docs/cloudflare-worker.js) that signs each one.

Cloudflare posts no webhooks: an event subscription fills a queue, and the Worker that reads it adds the signature of
Standard Webhooks. So the proof says "our Worker sent this"; whose account and domain it is about, the reading checks.
Without a Worker, `python -m consumer cloudflare` reads the queue itself (providers.cloudflare_queue).
"""

import json
from collections.abc import Sequence
from datetime import datetime

from config.settings import Settings
from core.events import Kind
from providers.base import Answers, Normalised, Post, Request
from providers.cloudflare_reading import NAME, Reading
from providers.entry import Entry, Fetch
from providers.samples import cloudflare as samples
from providers.standard_webhooks import WEBHOOK, StandardWebhooks
from providers.tables.cloudflare import TABLE


class Cloudflare:
    """The Cloudflare provider; `secrets` are shared with the Worker, the other options are those of the reading."""

    name = NAME
    answers = Answers()

    def __init__(
        self,
        secrets: Sequence[str],
        *,
        tolerance_s: int = 300,
        keep_local_case: bool = False,
        account_id: str = "",
        domains: Sequence[str] = (),
    ) -> None:
        self._scheme = StandardWebhooks(secrets, tolerance_s)
        self._reading = Reading(keep_local_case=keep_local_case, account_id=account_id, domains=domains)

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        return self._scheme.verify(request)

    def normalise(self, request: Request) -> Normalised:
        """See Provider.normalise."""
        return self._reading.normalise(request)

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers."""
        return self._reading.kept_headers(request)

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Provider.sign. Raises ValueError where `message_id` holds a blank, comma or dot."""
        return self._scheme.sign(body, message_id, sent_at, WEBHOOK)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """See Provider.sample; `message_id` is the event's id too, and account and domain are the configured ones."""
        domain = self._reading.domains[0] if self._reading.domains else "example.org"
        account_id = self._reading.account_id or "made-up-account"
        return json.dumps(samples.sample(kind, recipient, message_id, occurred_at, account_id, domain)).encode()


def make(settings: Settings, _fetch: Fetch) -> Cloudflare | None:
    """Cloudflare as `settings` say, or None without its secrets."""
    if not settings.cloudflare_webhook_secrets:
        return None
    return Cloudflare(
        settings.cloudflare_webhook_secrets,
        tolerance_s=settings.signature_tolerance_s,
        keep_local_case=settings.keep_local_case,
        account_id=settings.cloudflare_account_id,
        domains=settings.cloudflare_domains,
    )


ENTRY = Entry(
    title="Cloudflare Email Service (forwarded by a Worker)",
    setting="CLOUDFLARE_WEBHOOK_SECRETS",
    proof="HMAC-SHA256 over id, time and body (Standard Webhooks), made by your Worker",
    make=make,
    setup=(
        'Make a secret: `echo "whsec_$(openssl rand -base64 32)"`; set it as `CLOUDFLARE_WEBHOOK_SECRETS`.',
        "Create a queue, and an event subscription of your sending domain (`email.sending`) that fills it.",
        "Deploy `docs/cloudflare-worker.js` as its consumer, with the secret and the URL `https://<app>/webhooks/cloudflare`.",
        "Set `CLOUDFLARE_ACCOUNT_ID` and `CLOUDFLARE_DOMAINS`, so that events of anybody else are parked.",
        "Or, without a Worker and its secret: `wrangler queues consumer http add <queue> --message-retries 100`, set "
        "`CLOUDFLARE_API_TOKEN` (permission Queues: Edit), `CLOUDFLARE_QUEUE_ID` (not its name) and "
        "`CLOUDFLARE_ACCOUNT_ID`, and run `python -m consumer cloudflare`, which pulls the queue itself.",
    ),
    tables={"cloudflare": TABLE},
)
