"""Gunicorn's gevent worker with three manners more: workers share connections evenly, an answer leaves in one packet,
and a worker that is told to stop does not wait for idle clients.
"""

import time
from functools import partial
from typing import Any, Literal

import gevent
from gevent.pool import Pool
from gevent.server import StreamServer
from gunicorn.workers.ggevent import GeventWorker  # type: ignore[import-untyped]

# Seconds between two accepts, for each connection that a worker has: a proxy opens many connections at once and keeps
# them, and without a pause whichever worker wakes first takes nearly all. Ten count at most, so that clients which open
# a connection for each request still get a thousand of them a second from every worker.
PAUSE_S, PAUSES = 0.0001, 10


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn is untyped
    """Serves each connection in a greenlet of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle: dict[_IdleTimeout, Any] = {}

    def timeout_ctx(self) -> "_IdleTimeout":
        """Wait for the next request of a connection, `keepalive` seconds at most."""
        return _IdleTimeout(self.cfg.keepalive, self._idle)

    def run(self) -> None:
        """Serve until told to stop; then answer what has begun, `graceful_timeout` seconds at most."""
        pool = Pool(self.worker_connections)
        servers = [_Server(one, handle=partial(self.handle, one), spawn=pool) for one in self.sockets]
        for server in servers:
            server.start()
        while self.alive:
            self.notify()
            gevent.sleep(0.5)
        for server in servers:
            server.close()
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while len(pool) and time.monotonic() < deadline:
            # Proxies hold connections for 90 s in case of another request; each would keep us for all of that time.
            for timeout, greenlet in list(self._idle.items()):
                gevent.kill(greenlet, timeout)
            self.notify()
            gevent.sleep(0.1)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Answer one request."""
        joined = _HeadWithBody(sock)
        try:
            return super().handle_request(listener_name, req, joined, addr)
        finally:
            joined.flush()


class _Server(StreamServer):
    """Pauses after each connection that it takes; the accept loop's own parts are missing in gevent's type stubs."""

    max_accept = 1

    def do_handle(self, *args: Any) -> None:
        super().do_handle(*args)
        loop: Any = self
        loop.stop_accepting()
        loop._timer = loop.loop.timer(PAUSE_S * min(len(loop.pool), PAUSES))
        loop._timer.start(loop._start_accepting_if_started)


class _IdleTimeout(gevent.Timeout):
    """Ends its block silently, when the time is up or the worker stops; known in `idle` while it runs."""

    def __init__(self, seconds: float, idle: "dict[_IdleTimeout, Any]") -> None:
        silent: Any = False
        super().__init__(seconds, silent)
        self._idle = idle

    def __enter__(self) -> "_IdleTimeout":
        self._idle[self] = gevent.getcurrent()
        self.start()
        return self

    def __exit__(self, *error: Any) -> Literal[True] | None:
        del self._idle[self]
        return super().__exit__(*error)


class _HeadWithBody:
    """A client socket that sends the head of an answer together with its body: one packet and one wake-up less."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._head: bytes | None = None
        self._started = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def sendall(self, data: bytes) -> None:
        if not self._started:
            self._head, self._started = data, True
        else:
            head, self._head = self._head or b"", None
            self._sock.sendall(head + data)

    def flush(self) -> None:
        """Send a head that nothing followed, unless gunicorn has closed the connection in the meantime."""
        head, self._head = self._head, None
        if head and self._sock.fileno() != -1:
            self._sock.sendall(head)
