"""`POST /emails/batch`: authenticate, limit, look the key up, validate, accept; then answer, or misbehave as asked."""

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dev.sandbox import keys, validation
from dev.sandbox.arrivals import Arrival, Arrivals
from dev.sandbox.faults import Dice, Fault, Settings
from dev.sandbox.keys import Entry, KeyStore
from dev.sandbox.limits import Quota, RateLimit
from dev.sandbox.outbox import Kept, Outbox
from dev.sandbox.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Request:
    """One call as it came; header values are empty where the header is missing, `key` is None there."""

    arrived: float  # time.monotonic()
    authorization: str
    key: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back; `fault` is DROP_ACCEPTED or CUT_ACCEPTED where less than that does."""

    status: int
    content: dict[str, object]
    headers: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None


@dataclass
class State:
    """Everything that `/sandbox/reset` forgets."""

    settings: Settings
    outbox: Outbox
    dice: Dice
    keys: KeyStore = field(default_factory=KeyStore)
    rate: RateLimit = field(default_factory=RateLimit)
    quota: Quota = field(default_factory=Quota)
    arrivals: Arrivals = field(default_factory=Arrivals)
    ahead_s: float = 0.0  # how far the sandbox's clock was advanced
    replays: int = 0

    def now(self) -> float:
        """The sandbox's clock: what keys, quotas and the rate go by."""
        return time.time() + self.ahead_s

    def strikes(self, fault: Fault) -> bool:
        """Whether a fault strikes now."""
        struck, self.settings = self.dice.strikes(self.settings, fault)
        return struck


class Endpoint:
    """Serves calls of the accounts `api_keys`; tells `tell` which mails were accepted."""

    def __init__(self, api_keys: Sequence[str], tell: Callable[[list[Kept], Settings], None]) -> None:
        self._accepted_credentials = frozenset(f"Bearer {key}" for key in api_keys)
        self._tell = tell

    def receive(self, state: State, request: Request) -> Reply:
        """Handle one call; returns when its answer is due."""
        arrival = state.arrivals.open(time.time(), request.key or "")
        arrival.size = len(request.body)
        try:
            reply = self._answer(state, request, arrival)
        except Refusal as refusal:
            arrival.result = refusal.name
            reply = Reply(refusal.status, refusal.content, dict(refusal.headers))
            _wait(state, request)
        arrival.status = 0 if reply.fault else reply.status
        return reply

    def _answer(self, state: State, request: Request, arrival: Arrival) -> Reply:
        self._authenticate(state, request.authorization)
        headers = state.rate.take(state.settings.rate_per_s, state.now(), storm=state.strikes(Fault.STORM))
        if state.strikes(Fault.ERROR):
            raise Refusal(500, "application_error", "An unexpected error occurred, before anything was accepted.")
        key, digest = request.key if state.settings.keys else None, b""
        if key is not None:
            keys.check(key)
            digest = keys.digest(request.body)
            entry = state.keys.find(key, digest, state.now())
            if entry is not None:
                state.replays += 1
                arrival.result, arrival.mails = "replayed", len(entry.ids)
                return self._respond(state, request, arrival, entry.ids, headers | {"idempotent-replayed": "true"})
        mails = _validated(state, request.body)
        state.quota.check(len(mails), state.settings.daily_quota, state.settings.monthly_quota, state.now())
        ids = [str(uuid.uuid4()) for _ in mails]
        arrival.result, arrival.mails = "accepted", len(mails)
        # Nothing between the look into the key store and this line gives way to another call.
        entry = state.keys.begin(key, digest, ids, state.now()) if key is not None else None
        headers |= state.quota.count(len(mails))
        at = time.time()
        kept = [state.outbox.add(mail, mail_id, at) for mail, mail_id in zip(mails, ids, strict=True)]
        self._tell(kept, state.settings)
        return self._respond(state, request, arrival, ids, headers, entry)

    def _authenticate(self, state: State, authorization: str) -> None:
        if state.strikes(Fault.UNAUTHORIZED):
            raise Refusal(401, "validation_error", "API key is invalid")
        if not authorization.startswith("Bearer "):
            raise Refusal(401, "missing_api_key", "Missing API key in the authorization header")
        if authorization not in self._accepted_credentials:
            raise Refusal(401, "validation_error", "API key is invalid")

    def _respond(
        self,
        state: State,
        request: Request,
        arrival: Arrival,
        ids: list[str],
        headers: dict[str, str],
        entry: Entry | None = None,
    ) -> Reply:
        """Answer an accepted or replayed call. Until then its key is running."""
        slow = state.strikes(Fault.SLOW_ACCEPTED)
        struck = [one for one in (Fault.ERROR_ACCEPTED, Fault.DROP_ACCEPTED, Fault.CUT_ACCEPTED) if state.strikes(one)]
        fault = struck[0] if struck else Fault.SLOW_ACCEPTED if slow else None
        arrival.fault = fault.value if fault else ""
        try:
            _wait(state, request, state.settings.slow_s if slow else 0.0)
        finally:
            if entry is not None:
                entry.running = False
        if fault is Fault.ERROR_ACCEPTED:
            unlucky = Refusal(500, "application_error", "An unexpected error occurred.")
            return Reply(unlucky.status, unlucky.content, headers)
        return Reply(
            200, {"data": [{"id": one} for one in ids]}, headers, None if fault is Fault.SLOW_ACCEPTED else fault
        )


def _validated(state: State, body: bytes) -> list[validation.Mail]:
    mails = validation.read(body)
    unwanted = frozenset(state.settings.reject_addresses)
    validation.check(mails, lambda entry: validation.bare(entry) in unwanted, state.settings.name_index)
    if state.strikes(Fault.SENDER):
        raise Refusal(422, "validation_error", "Invalid `from` field. The domain is not verified.")
    return mails


def _wait(state: State, request: Request, least_s: float = 0.0) -> None:
    """Wait until the answer is due: `latency_ms` after the arrival, at least `least_s` from now."""
    due_s = request.arrived + state.settings.latency_ms / 1000 - time.monotonic()
    time.sleep(max(due_s, least_s, 0.0))
