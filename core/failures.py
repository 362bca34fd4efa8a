"""One table from the errors of libraries to our three kinds: whose fault is it, and does it cost an attempt?"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import pika.exceptions
import redis.exceptions
import sqlalchemy.exc

from core.errors import Kind, Outage, Permanent, Transient

_SQLITE_OUTAGES = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_NOMEM")
# PostgreSQL error classes (appendix A of its manual): connection, resources, operator intervention, system, locks,
# rollback. A missing table or column is a migration that has not run: nobody's message is at fault.
_NOT_MIGRATED = ("42P01", "42703")
_POSTGRESQL_OUTAGES = ("08", "53", "57", "58", "55P03", "40001", "40P01", *_NOT_MIGRATED)
_SQLITE_NOT_MIGRATED = re.compile(r"no such (table|column)|has no column named")
_POSTGRESQL_REFUSALS = ("25006", "42501")  # read-only transaction, insufficient privilege
_REDIS_OUTAGES = ("BUSY",)  # the other codes that mean an outage are classes of redis-py, without the code in the text
# redis-py strips the code from the text of these three.
_REDIS_CODES: dict[type[BaseException], str] = {
    redis.exceptions.ReadOnlyError: "READONLY",
    redis.exceptions.NoPermissionError: "NOPERM",
    redis.exceptions.OutOfMemoryError: "OOM",
}
# The last two are how Redis 7.0 and 8 say NOPERM of a command inside a script.
_REDIS_REFUSALS = (
    "READONLY", "NOPERM", "OOM", "MISCONF", "NOREPLICAS", "The user executing the script", "ACL failure in script",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an error means; `refusal` marks a store that answers but will not do it, for whatever message."""

    kind: Kind
    refusal: bool = False


def judge(error: BaseException) -> Verdict:
    """The verdict on `error`: the first row of the table whose type matches; what nobody foresaw is transient."""
    for types, verdict in _TABLE:
        if isinstance(error, types):
            return verdict(error)
    return Verdict(Transient)


def _sql(error: BaseException) -> Verdict:
    assert isinstance(error, sqlalchemy.exc.DBAPIError)
    original = error.orig
    sqlite_name = getattr(original, "sqlite_errorname", None) or ""
    state = getattr(original, "sqlstate", None)
    if sqlite_name.startswith("SQLITE_READONLY"):
        return Verdict(Transient, refusal=True)
    not_migrated = sqlite_name == "SQLITE_ERROR" and _SQLITE_NOT_MIGRATED.search(str(original)) is not None
    if error.connection_invalidated or not_migrated or sqlite_name.startswith(_SQLITE_OUTAGES):
        return Verdict(Outage)
    if state is not None:
        return _by_prefix(state, _POSTGRESQL_OUTAGES, _POSTGRESQL_REFUSALS)
    # psycopg reports a server that is away, or gone in the middle, as an OperationalError without a state.
    lost = isinstance(error, sqlalchemy.exc.OperationalError | sqlalchemy.exc.InterfaceError) and not sqlite_name
    return Verdict(Outage if lost else Transient)


def _redis(error: BaseException) -> Verdict:
    return _by_prefix(_REDIS_CODES.get(type(error), str(error)), _REDIS_OUTAGES, _REDIS_REFUSALS)


def _by_prefix(text: str, outages: tuple[str, ...], refusals: tuple[str, ...]) -> Verdict:
    if text.startswith(outages):
        return Verdict(Outage)
    return Verdict(Transient, refusal=text.startswith(refusals))


def _always(kind: Kind) -> Callable[[BaseException], Verdict]:
    return lambda _: Verdict(kind)


_TABLE: tuple[tuple[tuple[type[BaseException], ...], Callable[[BaseException], Verdict]], ...] = (
    ((Permanent,), _always(Permanent)),
    ((Outage,), _always(Outage)),
    ((Transient,), _always(Transient)),
    ((redis.exceptions.ConnectionError, redis.exceptions.TimeoutError), _always(Outage)),
    (
        (redis.exceptions.MasterDownError, redis.exceptions.ClusterDownError, redis.exceptions.TryAgainError),
        _always(Outage),
    ),
    ((redis.exceptions.RedisError,), _redis),
    ((sqlalchemy.exc.TimeoutError,), _always(Outage)),  # no connection free in the pool
    ((sqlalchemy.exc.DBAPIError,), _sql),
    ((pika.exceptions.AMQPError, ConnectionError, TimeoutError), _always(Outage)),
)
