"""POST /webhooks/<provider>: verify, normalise, publish, answer.

    200   every event of the body is confirmed by the broker, or needs no work (several providers accept nothing else)
    401   the proof is missing or wrong (never 403: one provider stops for good on it)
    404   unknown provider, or one without its settings
    413   the body is over the provider's limit
    busy  503, or what this provider retries, with Retry-After: not durably handed over in time, or the proof could not
          be checked for a reason of ours

The request touches RabbitMQ alone, so that neither Redis nor SQL can make a provider give up. It never removes
duplicates: a lost duplicate is a lost event, and the effect is idempotent.
"""

import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from flask import Blueprint, Response, request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from core import parked, wire
from core.errors import Outage
from core.messages import Outgoing
from core.parked import Parked, ParkedReason
from core.telemetry import Counters, Series
from core.topology import Topology
from providers.base import Normalised, ProofRefused, ProofUnavailable, Provider, Request

RETRY_AFTER_S = 5
UNKNOWN = "unknown"  # counters never take a provider's name from the URL, which is anybody's to write

logger = logging.getLogger(__name__)


class Publishes(Protocol):
    """What the endpoint needs of core.publisher.Publisher."""

    def publish(self, messages: list[Outgoing], timeout_s: float) -> None: ...


class Endpoint:
    """The four steps of a webhook request and the answer to each way in which they end."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        missing: Callable[[str], str],
        publisher: Publishes,
        topology: Topology,
        counters: Counters,
        clock: Callable[[], datetime],
    ) -> None:
        """`providers` are the configured ones by name; `missing` says what a provider that is not among them lacks."""
        self._providers, self._missing = providers, missing
        self._publisher, self._topology = publisher, topology
        self._counters, self._clock = counters, clock

    def blueprint(self) -> Blueprint:
        """The route and its error handlers."""
        blueprint = Blueprint("webhooks", __name__)
        blueprint.post("/webhooks/<name>")(self.receive)
        blueprint.register_error_handler(RequestEntityTooLarge, self._too_large)
        blueprint.register_error_handler(ClientDisconnected, self._cut_off)
        blueprint.register_error_handler(ProofRefused, self._refused)
        blueprint.register_error_handler(ProofUnavailable, self._unavailable)
        blueprint.register_error_handler(Outage, self._outage)
        blueprint.register_error_handler(Exception, self._unexpected)
        return blueprint

    def receive(self, name: str) -> Response:
        """Take one webhook request of provider `name`."""
        started = time.monotonic()
        provider = self._providers.get(name)
        if provider is None:
            return self._unknown(name)
        received = Request(_headers(request.environ), _body(provider.answers.body_limit), self._clock())
        secret = provider.verify(received)
        said = provider.normalise(received)
        messages = self._messages(provider, received, said)
        self._publisher.publish(messages, provider.answers.deadline_s - (time.monotonic() - started))
        return self._accepted(name, secret, said)

    def _messages(self, provider: Provider, received: Request, said: Normalised) -> list[Outgoing]:
        exchange, work = self._topology.work_exchange, self._topology.events
        messages = [Outgoing(exchange, work.name, wire.encode(event), event.event_id) for event in said.events]
        if said.parked:
            items = tuple(ParkedReason(item.index, item.reason) for item in said.parked)
            letter = Parked(provider.name, provider.kept_headers(received), received.body, received.received_at, items)
            messages.append(Outgoing(exchange, work.parked, parked.encode(letter), f"parked:{uuid.uuid4().hex}"))
        return messages

    def _accepted(self, name: str, secret: str, said: Normalised) -> Response:
        for event in said.events:
            self._counters.add(Series.ACCEPTED, name, event.kind)
        if said.parked:
            self._counters.add(Series.ACCEPTED, name, "parked", len(said.parked))
            self._counters.add(Series.PARKED, name, "", len(said.parked))
        for kind, n in said.counted.items():
            self._counters.add(Series.COUNTED, name, kind, n)
        counts = {"queued": len(said.events), "parked": len(said.parked), "counted": sum(said.counted.values())}
        logger.info("webhook", extra={"provider": name, "outcome": "accepted", "secret": secret, **counts})
        return _answer(200, counts)

    def _unknown(self, name: str) -> Response:
        reason = self._missing(name)
        self._counters.add(Series.REFUSED, UNKNOWN, "unknown_provider")
        extra = {"provider": name[:40], "outcome": "refused", "reason": "unknown_provider", "missing": reason}
        logger.warning("webhook", extra=extra)
        return _answer(404, {"error": "no such provider"})

    def _refused(self, error: ProofRefused) -> Response:
        return self._refuse(401, error.reason)

    def _too_large(self, _error: RequestEntityTooLarge) -> Response:
        return self._refuse(413, "too_large")

    def _refuse(self, status: int, reason: str) -> Response:
        name = self._provider().name
        self._counters.add(Series.REFUSED, name, reason)
        logger.info("webhook", extra={"provider": name, "outcome": "refused", "reason": reason})
        return _answer(status, {"error": reason})

    def _cut_off(self, _error: ClientDisconnected) -> Response:
        return self._busy("cut_off", "the connection ended before the body did")

    def _unavailable(self, error: ProofUnavailable) -> Response:
        return self._busy("proof_unavailable", str(error))

    def _outage(self, error: Outage) -> Response:
        return self._busy(error.code, error.text)

    def _unexpected(self, error: Exception) -> Response:
        # A provider module that raises is a bug; the provider keeps the event and tries again, until it is mended.
        logger.error("webhook crashed", exc_info=error)
        return self._busy("crashed", type(error).__name__)

    def _busy(self, reason: str, text: str) -> Response:
        provider = self._provider()
        self._counters.add(Series.BUSY, provider.name, reason)
        extra = {"provider": provider.name, "outcome": "busy", "reason": reason, "text": text}
        logger.warning("webhook", extra=extra)
        answer = _answer(provider.answers.busy_status, {"error": "busy"})
        answer.headers["Retry-After"] = str(RETRY_AFTER_S)
        return answer

    def _provider(self) -> Provider:
        return self._providers[(request.view_args or {})["name"]]


def _headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """The request's headers with their names in lower case."""
    headers = {key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")}
    headers["content-type"] = environ.get("CONTENT_TYPE", "")
    return headers


def _body(limit: int) -> bytes:
    """The raw body, of which at most one byte over `limit` is read; raises RequestEntityTooLarge or ClientDisconnected.

    Read past werkzeug, whose limited stream cuts a chunked body at its maximum without a word.
    """
    length = request.content_length
    if length is not None and length > limit:
        raise RequestEntityTooLarge
    try:
        body: bytes = request.environ["wsgi.input"].read(limit + 1 if length is None else length)
    except (OSError, ValueError) as error:  # a broken connection, or chunks that are none
        raise ClientDisconnected from error
    if len(body) > limit:
        raise RequestEntityTooLarge
    if length is not None and len(body) < length:
        raise ClientDisconnected
    return body


def _answer(status: int, body: Mapping[str, object]) -> Response:
    return Response(json.dumps(body), status, mimetype="application/json")
