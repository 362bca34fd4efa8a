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

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from core.attempt import Attempt
from core.errors import Outage
from core.messages import Outgoing
from core.telemetry import UNKNOWN_PROVIDER, Counters, Series
from core.topology import Topology
from providers import outgoing
from providers.base import PUBLIC_TEST, Normalised, ProofRefused, ProofUnavailable, Provider, Request
from providers.entry import Fetch
from providers.fetching import https_get
from webhook.body import CutOff, TooLarge, read_body

logger = logging.getLogger(__name__)


class Publishes(Protocol):
    """What the endpoint needs of core.publisher.Publisher."""

    def publish(self, messages: list[Outgoing], timeout_s: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """What the provider is told; `try_again` sends it away with Retry-After."""

    status: int
    body: Mapping[str, object]
    try_again: bool = False


class Endpoint:
    """The four steps of a webhook request and the answer to each way in which they end. Knows WSGI, but not Flask."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        missing: Callable[[str], str],
        publisher: Publishes,
        topology: Topology,
        counters: Counters,
        clock: Callable[[], datetime],
        fetch: Fetch = https_get,
    ) -> None:
        """`providers` are the configured ones by name; `missing` says what a provider that is not among them lacks;
        `fetch` confirms a subscription whose proof has been checked."""
        self.providers, self._missing = providers, missing
        self._publisher, self._topology = publisher, topology
        self._counters, self._clock, self._fetch = counters, clock, fetch

    def answer(self, name: str, environ: Mapping[str, Any]) -> Answer:
        """Take one webhook request of provider `name`, a WSGI environment. Never raises."""
        provider = self.providers.get(name)
        if provider is None:
            return self._unknown(name)
        with Attempt(lambda error: self._failed(provider, error)) as attempt:
            attempt.answer = self._take(provider, environ)
        return attempt.answer

    def _take(self, provider: Provider, environ: Mapping[str, Any]) -> Answer:
        started = time.monotonic()
        body = read_body(environ, provider.answers.body_limit)
        received = Request(_headers(environ), body, self._clock())
        secret = provider.verify(received)
        said = provider.normalise(received)
        if said.confirm_url:
            self._fetch(said.confirm_url)
        messages = outgoing.messages(self._topology, provider, received, said)
        self._publisher.publish(messages, provider.answers.deadline_s - (time.monotonic() - started))
        return self._accepted(provider.name, secret, said)

    def _accepted(self, name: str, secret: str, said: Normalised) -> Answer:
        outgoing.count(self._counters, name, said)
        if secret != PUBLIC_TEST:  # anybody can make such a post: it says nothing of our secrets
            self._counters.add(Series.SECRET, name, secret)
        counts = {"queued": len(said.events), "parked": len(said.parked), "counted": sum(said.counted.values())}
        logger.info("webhook", extra={"provider": name, "outcome": "accepted", "secret": secret, **counts})
        return Answer(200, counts)

    def _unknown(self, name: str) -> Answer:
        self._counters.add(Series.REFUSED, UNKNOWN_PROVIDER, "unknown_provider")
        extra = {"provider": name[:40], "outcome": "refused", "reason": "unknown_provider"}
        logger.warning("webhook", extra=extra | {"missing": self._missing(name)})
        return Answer(404, {"error": "no such provider"})

    def _failed(self, provider: Provider, error: Exception) -> Answer:
        match error:
            case ProofRefused():
                return self._refused(provider, 401, error.reason)
            case TooLarge():
                return self._refused(provider, 413, "too_large")
            case CutOff():
                return self._busy(provider, "cut_off", "the connection ended before the body did")
            case ProofUnavailable():
                return self._busy(provider, "proof_unavailable", str(error))
            case Outage():
                return self._busy(provider, error.code, error.text)
        # A provider module that raises is a bug; the provider keeps the event and tries again, until it is mended.
        logger.error("webhook crashed", exc_info=error)
        return self._busy(provider, "crashed", type(error).__name__)

    def _refused(self, provider: Provider, status: int, reason: str) -> Answer:
        self._counters.add(Series.REFUSED, provider.name, reason)
        logger.info("webhook", extra={"provider": provider.name, "outcome": "refused", "reason": reason})
        return Answer(status, {"error": reason})

    def _busy(self, provider: Provider, reason: str, text: str) -> Answer:
        self._counters.add(Series.BUSY, provider.name, reason)
        extra = {"provider": provider.name, "outcome": "busy", "reason": reason, "text": text}
        logger.warning("webhook", extra=extra)
        return Answer(provider.answers.busy_status, {"error": "busy"}, try_again=True)


def _headers(environ: Mapping[str, Any]) -> dict[str, str]:
    """The request's headers with their names in lower case."""
    headers = {key[5:].replace("_", "-").lower(): value for key, value in environ.items() if key.startswith("HTTP_")}
    headers["content-type"] = environ.get("CONTENT_TYPE", "")
    return headers
