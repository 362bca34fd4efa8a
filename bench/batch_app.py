"""The product's endpoint with a provider that posts many events in one body, as several real providers do."""

import json
import os
from datetime import datetime

from flask import Flask

from config import settings
from core import clock
from core.events import Event, Kind
from core.publisher import Publisher
from core.telemetry import Counters
from core.topology import Topology, queue_prefix
from providers import registry
from providers.base import Answers, Normalised, Post, Request
from providers.standard_webhooks import SVIX, StandardWebhooks
from webhook import doors
from webhook.app import create_app
from webhook.endpoint import Endpoint


class Array:
    """A made-up provider: an array of complaints, signed like Resend's posts."""

    name = "array"
    answers = Answers()

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._scheme = StandardWebhooks(secrets, 300)

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        return self._scheme.verify(request)

    def normalise(self, request: Request) -> Normalised:
        """See Provider.normalise; this one trusts its bodies."""
        return Normalised(tuple(self._event(one, request.received_at) for one in json.loads(request.body)))

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers."""
        return {}

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Provider.sign."""
        return self._scheme.sign(body, message_id, sent_at, SVIX)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """See Provider.sample: one event as an array."""
        return json.dumps([{"id": message_id, "to": recipient, "at": occurred_at.isoformat()}]).encode()

    def _event(self, one: dict[str, str], received_at: datetime) -> Event:
        occurred_at = datetime.fromisoformat(one["at"])
        event_id, recipient = f"array:{one['id']}", one["to"]
        return Event(
            event_id, self.name, Kind.COMPLAINT, recipient, recipient, occurred_at, received_at, "array.made_up"
        )


def __getattr__(name: str) -> Flask:
    """`app`, made when gunicorn asks for it."""
    if name != "app":
        raise AttributeError(name)
    current = settings.load(os.environ)
    endpoint = Endpoint(
        {Array.name: Array(current.resend_webhook_secrets)},
        registry.missing,
        Publisher(current.amqp_url, connection_name="mailward bench"),
        Topology(queue_prefix(current.env), current.retry_delays_s),
        Counters(),
        clock.utc_now,
    )
    return create_app([doors.route(endpoint)], doors.shortcuts(endpoint))
