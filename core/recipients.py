"""The recipient store: one Redis key per eligible recipient, the value whatever the application keeps there."""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.settings import Settings
from core.errors import Transient

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 5.0  # a frozen Redis becomes an outage well within a heartbeat of the broker

# Values of many keys in one trip. A bare MGET answers nil for a key of another type, and "absent" would be a lie.
_READ = """
local found = {}
for first = 1, #KEYS, 100 do
  local last = math.min(first + 99, #KEYS)
  local some = redis.call('MGET', unpack(KEYS, first, last))
  for i = first, last do
    found[i] = some[i - first + 1]
    if not found[i] then
      local kind = redis.call('TYPE', KEYS[i]).ok
      if kind ~= 'none' then found[i] = {kind} end
    end
  end
end
return found
"""

# Deletes each key only if its bytes are still the ones that were judged (and journalled). A hundred keys a call: one
# call for each key costs Redis more than the work on it.
_DELETE = """
local done = {}
for first = 1, #KEYS, 100 do
  local last = math.min(first + 99, #KEYS)
  local found, same = redis.call('MGET', unpack(KEYS, first, last)), {}
  for i = first, last do
    local now = found[i - first + 1]
    if now == ARGV[i] then done[i] = 1 same[#same + 1] = KEYS[i]
    elseif now or redis.call('TYPE', KEYS[i]).ok ~= 'none' then done[i] = 2
    else done[i] = 0 end
  end
  if #same > 0 then redis.call('DEL', unpack(same)) end
end
return done
"""


class WrongType(Transient):
    """The key holds something other than a string: nothing that we could judge, journal or put back."""


class Deletion(IntEnum):
    """What the compare-and-delete found."""

    GONE = 0  # the key was not there any more
    DELETED = 1
    CHANGED = 2  # other bytes than those that were judged: left alone


def connect(settings: Settings) -> redis.Redis:
    """A client that connects on first use, with short time-outs and without retries of its own."""
    options: dict[str, Any] = {
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": READ_TIMEOUT_S,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 30,
    }
    parts = urlsplit(settings.redis_url)
    if parts.scheme == "rediss" and "ssl_cert_reqs" not in parse_qs(parts.query):
        options["ssl_cert_reqs"] = "required" if settings.redis_tls_verify else "none"
        options["ssl_check_hostname"] = settings.redis_tls_verify
    return redis.Redis.from_url(settings.redis_url, **options)


class RecipientStore:
    """Recipient records in Redis. Raises redis-py's errors as they are (core.failures says what kind each is)."""

    def __init__(self, client: redis.Redis, key_template: str) -> None:
        self._client = client
        self._prefix, self._suffix = key_template.split("{address}")
        self._read = client.register_script(_READ)
        self._delete = client.register_script(_DELETE)

    def key(self, address: str) -> str:
        """The Redis key of `address`."""
        return f"{self._prefix}{address}{self._suffix}"

    def address(self, key: str) -> str:
        """The address of a Redis key made by `key`."""
        return key[len(self._prefix) : len(key) - len(self._suffix)]

    def read(self, keys: Sequence[str]) -> list[bytes | None]:
        """The values of `keys` in order, None where there is none; raises WrongType if one is not a string."""
        found = cast(list[Any], self._read(keys=list(keys))) if keys else []
        for value in found:
            if isinstance(value, list):
                raise WrongType("wrong_type", f"a recipient record is a Redis {value[0].decode()}, not a string")
        return found

    def delete_if_unchanged(self, pairs: Sequence[tuple[str, bytes]]) -> list[Deletion]:
        """Delete each key whose value is still the given bytes; says for each what was found."""
        if not pairs:
            return []
        done = self._delete(keys=[key for key, _ in pairs], args=[record for _, record in pairs])
        return [Deletion(one) for one in cast(list[int], done)]

    def put(self, address: str, record: bytes, *, only_if_absent: bool = False) -> bool:
        """Store the record of `address`; with `only_if_absent` an existing one stays. True if it was stored."""
        return bool(self._client.set(self.key(address), record, nx=only_if_absent))

    def put_many(self, records: Iterable[tuple[str, bytes]]) -> None:
        """Store many (address, record) pairs in one trip, replacing what is there."""
        pipe = self._client.pipeline(transaction=False)
        for address, record in records:
            pipe.set(self.key(address), record)
        pipe.execute()

    def scan(self) -> Iterator[tuple[str, bytes]]:
        """Every (address, record), in no order; keys of other types, or that are no UTF-8, are passed over."""
        keys: list[str] = []
        for raw in self._client.scan_iter(
            match=_glob(self._prefix) + "*" + _glob(self._suffix), count=1000, _type="string"
        ):
            try:
                keys.append(raw.decode())
            except UnicodeDecodeError:
                continue
            if len(keys) >= 1000:
                yield from self._records(keys)
                keys = []
        yield from self._records(keys)

    def ping(self) -> None:
        """Raise unless Redis answers and takes commands."""
        self._client.ping()

    def _records(self, keys: list[str]) -> Iterator[tuple[str, bytes]]:
        for key, record in zip(keys, cast(list[bytes | None], self._client.mget(keys) if keys else []), strict=True):
            if record is not None:
                yield self.address(key), record


def _glob(text: str) -> str:
    return "".join("\\" + char if char in "*?[]\\^-" else char for char in text)
