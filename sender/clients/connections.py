"""Connections that tell how far an attempt has come, and that its deadline can cut.

Parts of `transport`: requests and urllib3 bound each read, not the whole, and report a reset before and after the first
byte in the same words. Here both are known: a timer cuts the connection, and the moment of the first byte is noted.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError

IDLE_S = 5.0  # a connection that was idle longer may be closing at the other end: a post on it could be lost

_ours = threading.local()  # .attempt: the attempt that this thread makes


class Attempt:
    """How far a request has come. At its deadline its connection is cut, or kept from beginning."""

    def __init__(self, total_s: float) -> None:
        self.total_s = total_s
        self.connecting = False
        self.writing = False  # from here on somebody may have read it
        self._expired = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def begin_writing(self, connected: socket.socket) -> None:
        with self._lock:
            if self._expired:
                raise ConnectTimeoutError("the deadline passed before the connection stood")
            self.connecting, self.writing = False, True
            self._socket = connected

    def expire(self) -> None:
        with self._lock:
            self._expired = True
            if self._socket is not None:
                # Not SSLSocket.shutdown, which would turn the rest into plain text under the reader's hands.
                with suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def end(self) -> None:
        with self._lock:
            self._socket = None

    def cannot_have_left(self, error: Exception) -> bool:
        """Whether `error` came before the first byte was written."""
        if self.connecting or self.writing:
            return self.connecting
        # Neither: the error came from something else than our connections. Only what requests reports without having
        # begun to talk is proof.
        talking = isinstance(
            error, requests.ConnectionError | requests.Timeout | requests.exceptions.ChunkedEncodingError
        )
        return isinstance(error, requests.ConnectTimeout) or not talking


@contextmanager
def attempt(total_s: float) -> Iterator[Attempt]:
    """An attempt of this thread, which makes one at a time; it expires `total_s` seconds from now."""
    one = Attempt(total_s)
    timer = threading.Timer(total_s, one.expire)
    timer.daemon = True
    timer.start()
    _ours.attempt = one
    try:
        yield one
    finally:
        _ours.attempt = None
        timer.cancel()
        one.end()


class _Watched:
    """What both kinds of connections tell the attempt that uses them."""

    sock: Any
    timeout: Any
    _answered_at = 0.0

    def connect(self) -> None:
        _ours.attempt.connecting = True
        super().connect()  # type: ignore[misc]  # a mixin of urllib3's connections

    def request(self, *args: Any, **kwargs: Any) -> None:
        attempt: Attempt = _ours.attempt
        if self.sock is None:
            self.connect()
        self.timeout = attempt.total_s  # urllib3 would allow a megabyte no longer than the connection
        attempt.begin_writing(self.sock)
        super().request(*args, **kwargs)  # type: ignore[misc]

    def getresponse(self) -> Any:
        response = super().getresponse()  # type: ignore[misc]
        self._answered_at = time.monotonic()
        return response

    @property
    def is_connected(self) -> bool:
        """Asked by the pool before a connection is used again."""
        return time.monotonic() - self._answered_at < IDLE_S and super().is_connected  # type: ignore[misc]


class _Connection(_Watched, HTTPConnection):
    pass


class _TLSConnection(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}
