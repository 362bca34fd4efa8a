"""One POST under a total deadline, and the knowledge whether any of it can have left this machine.

Owns connections and time; knows nothing of any provider. It makes no retries, follows no redirects, and takes nothing
from the environment: a proxy that repeats posts, or a .netrc that replaces the credentials, would be a second sender.

requests and urllib3 bound each read, not the whole: an answer that drips a byte a second would never end. A timer
therefore cuts the connection at the deadline, whatever the request is doing. A connection belongs to one call at a
time (each session holds one), so that the timer can never cut somebody else's.
"""

import queue
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy

import requests
from urllib3.exceptions import HTTPError

from sender.clients import connections
from sender.clients.connections import Adapter, Attempt

ANSWER_LIMIT = 1024 * 1024  # bytes; a hundred ids are 5 KB


class Unsent(Exception):
    """Nothing of the request can have been read by anybody; the text says why."""


class Unanswered(Exception):
    """The request may have been read, and no answer came; the text says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; `whole` is false where its body broke off, was cut at the deadline or exceeds ANSWER_LIMIT."""

    status: int
    headers: Mapping[str, str]  # names in any case
    body: bytes
    whole: bool


class Transport:
    """Posts over at most `pool_size` connections at once; safe from any thread.

    `connect_s` bounds each connection attempt (and the wait for a free connection), `total_s` the whole call from
    connecting to the last byte of the answer.
    """

    def __init__(self, connect_s: float, total_s: float, pool_size: int) -> None:
        self._timeouts = (connect_s, total_s)
        self._free: queue.LifoQueue[requests.Session] = queue.LifoQueue()
        for _ in range(pool_size):
            self._free.put(_session())

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Post exactly these bytes once. Raises Unsent or Unanswered."""
        connect_s, total_s = self._timeouts
        try:
            session = self._free.get(timeout=connect_s)
        except queue.Empty:
            raise Unsent("every connection is in use") from None
        try:
            with connections.attempt(total_s) as attempt:
                return _post(session, attempt, self._timeouts, url, body, headers)
        finally:
            self._free.put(session)


def _post(
    session: requests.Session,
    attempt: Attempt,
    timeouts: tuple[float, float],
    url: str,
    body: bytes,
    headers: Mapping[str, str],
) -> Reply:
    try:
        answer = session.post(url, data=body, headers=headers, timeout=timeouts, stream=True, allow_redirects=False)
    except (OSError, HTTPError) as error:  # RequestException is an OSError
        if attempt.cannot_have_left(error):
            raise Unsent(_said(error)) from error
        raise Unanswered(_said(error)) from error
    with answer:
        content, whole = _read(answer)
        return Reply(answer.status_code, answer.headers, content, whole)


def _read(answer: requests.Response) -> tuple[bytes, bool]:
    content = bytearray()
    try:
        for chunk in answer.iter_content(64 * 1024):
            content += chunk
            if len(content) > ANSWER_LIMIT:
                return bytes(content[:ANSWER_LIMIT]), False
    except (OSError, HTTPError):
        return bytes(content), False
    return bytes(content), True


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    adapter = Adapter(pool_connections=1, pool_maxsize=1, max_retries=0)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session
