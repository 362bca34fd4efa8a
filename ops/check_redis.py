"""The doctor on Redis: connection, eviction, persistence, role, clock."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import redis

from core import recipients
from ops.clock_skew import compare
from ops.context import Context
from ops.faults import explain
from ops.findings import Finding, fail, ok, warn

AREA = "redis"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def findings(context: Context) -> Iterator[Finding]:
    """Findings about the recipient store, or the one that it cannot be reached."""
    with recipients.connect(context.settings) as client:
        try:
            info = cast(Mapping[str, Any], client.info())
            yield ok(AREA, f"connected, version {info.get('redis_version', 'unknown')}")
            yield from _role(info)
            yield from _memory(client)
            yield from _persistence(info, client)
            yield compare(AREA, lambda: _time(client), context.clock)
        except redis.RedisError as error:
            yield fail(AREA, explain(error, context.settings), "")


def _role(info: Mapping[str, Any]) -> Iterator[Finding]:
    if info.get("role") == "slave":
        yield fail(AREA, "this is a replica: records cannot be deleted here", "Point REDIS_URL at the primary")


def _memory(client: redis.Redis) -> Iterator[Finding]:
    policy = _config(client, "maxmemory-policy")
    if policy is None:
        yield warn(
            AREA,
            "it does not let us see maxmemory-policy (CONFIG is refused)",
            "Make sure it is noeviction in your provider's settings: an evicted record is a recipient lost",
        )
    elif policy == "noeviction":
        yield ok(AREA, "maxmemory-policy noeviction")
    else:
        limited = _config(client, "maxmemory") not in (None, "0")
        found = fail if limited else warn
        why = "records are thrown away when memory is full" if limited else "harmless only while maxmemory is 0"
        yield found(AREA, f"maxmemory-policy {policy}: {why}", "Set it to noeviction")


def _persistence(info: Mapping[str, Any], client: redis.Redis) -> Iterator[Finding]:
    if info.get("loading"):
        yield warn(AREA, "it is still loading its data", "Wait")
    if info.get("aof_enabled"):
        yield ok(AREA, "append-only file on")
        return
    save = _config(client, "save")
    if save is None:
        yield warn(AREA, "it does not let us see whether it saves to disk", "See your provider's plan")
    elif save:
        yield warn(
            AREA,
            f"snapshots only (save {save}): a crash brings back records deleted since the last one",
            "Turn the append-only file on (appendonly yes)",
        )
    else:
        yield warn(AREA, "nothing is saved to disk: a restart loses every record", "Turn appendonly on")
    if info.get("rdb_last_bgsave_status", "ok") != "ok":
        yield fail(AREA, "the last snapshot failed, so Redis may refuse writes", "See its log; is its disk full?")


def _config(client: redis.Redis, name: str) -> str | None:
    """A setting of the server, None where a managed Redis does not show it."""
    try:
        return cast(dict[str, str], client.config_get(name)).get(name)
    except redis.ConnectionError:
        raise
    except redis.ResponseError:
        return None


def _time(client: redis.Redis) -> datetime:
    seconds, microseconds = client.time()
    return _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
