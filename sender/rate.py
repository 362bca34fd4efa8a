"""One rate limit for each provider account, shared by all workers through Redis, learned from the provider's answers.

The moving window is the library `limits`; ours is only what the provider says: how many calls a second it allows, and
until when it wants to hear nothing.
"""

from typing import cast

import redis
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import MovingWindowRateLimiter

from sender.clients.base import Rate

LEARNED_S = 3600  # what a provider said about its limit is believed this long
POLL_S = 0.05
QUIET_LAST_S = 3600.0  # no answer silences us for longer than this without being asked again


class SharedRate:
    """Tokens for calls to one provider account. Raises redis-py's errors as they are."""

    def __init__(self, client: redis.Redis, env: str, account: str, calls_per_s: int) -> None:
        """`calls_per_s` holds until the provider says otherwise; 0 means no limit but the provider's."""
        self._client = client
        self._start = calls_per_s
        self._name = f"mailward:{env}:rate:{account}"
        storage = RedisStorage(_uri(client), connection_pool=client.connection_pool)
        self._window = MovingWindowRateLimiter(storage)

    def take(self) -> float:
        """0.0 if one call may be made now (its token is taken), else how many seconds to wait before asking again."""
        quiet_ms = self._client.pttl(f"{self._name}:quiet")
        if quiet_ms > 0:
            return quiet_ms / 1000
        limit = self._limit()
        if limit == 0 or self._window.hit(RateLimitItemPerSecond(limit), self._name):
            return 0.0
        return POLL_S

    def learn(self, said: Rate, *, limited: bool) -> None:
        """Heed an answer; `limited` means that it was a refusal because of the rate."""
        if said.limit is not None and said.limit >= 1:
            self._client.set(f"{self._name}:limit", int(said.limit), ex=LEARNED_S)
        quiet_s = said.retry_after_s if limited else None
        if quiet_s is None and (limited or said.remaining == 0):
            quiet_s = said.reset_s if said.reset_s is not None else (1.0 if limited else None)
        if quiet_s is not None and quiet_s > 0:
            self._client.set(f"{self._name}:quiet", 1, px=int(min(quiet_s, QUIET_LAST_S) * 1000))

    def _limit(self) -> int:
        learned = cast(bytes | None, self._client.get(f"{self._name}:limit"))
        return int(learned) if learned else self._start


def _uri(client: redis.Redis) -> str:
    """`limits` wants a URI though it is given the connections; none is made from this."""
    return "redis://shared"
