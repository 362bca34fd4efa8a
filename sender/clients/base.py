"""The one interface of a provider's send API: what a call can answer, and what that proves about it."""

from dataclasses import dataclass
from typing import Protocol

from core.ledger.states import Happening
from sender.mail import Mail


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter promises: how long a key is remembered, how many mails a call takes, whether ids return."""

    key_window_s: int  # 0: the provider knows no idempotency keys, so an ambiguous call is unknown at once
    batch_limit: int
    returns_ids: bool


@dataclass(frozen=True, slots=True)
class Rate:
    """What the provider said about its rate limit; None where it said nothing. Seconds."""

    limit: float | None = None  # calls a second
    remaining: int | None = None
    reset_s: float | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one attempt.

    `happening` is one of accepted, not_sent, ambiguous, running_elsewhere, key_taken, rejected, rejected_for_all.
    `ids` are the provider's message ids in the order of the mails (accepted only). `pause` is the reason for which the
    campaign must be paused, empty where it need not be (quota, credentials, sender, content). `culprits` are the
    indexes of the mails that the provider named as the cause of a rejection, empty where it named none.
    """

    happening: Happening
    status: int = 0  # HTTP status; 0 where there was none
    error: str = ""  # the provider's short name of the error, or ours
    text: str = ""
    ids: tuple[str, ...] = ()
    pause: str = ""
    culprits: tuple[int, ...] = ()
    rate: Rate = Rate()


class Client(Protocol):
    """A provider's send API. Makes no retries of its own: every attempt is the ledger's."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def account(self) -> str:
        """Fingerprint of the provider account (never the key itself): a key means nothing to another account."""
        ...

    def fragment(self, mail: Mail) -> bytes:
        """One mail as a part of a request body."""
        ...

    def body(self, fragments: list[bytes]) -> bytes:
        """The request body of these mails, in order. Deterministic."""
        ...

    def call(self, body: bytes, idempotency_key: str) -> Answer:
        """Make one attempt with exactly these bytes. Never raises for anything the network or the provider does."""
        ...
