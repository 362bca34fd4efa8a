"""Gunicorn's gevent worker with two manners more: one send per answer, and no waiting for idle clients at SIGTERM."""

from typing import Any

import gevent
from gunicorn.workers.ggevent import GeventWorker  # type: ignore[import-untyped]


class Worker(GeventWorker):  # type: ignore[misc]  # gunicorn is untyped
    """Serves each connection in a greenlet of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle: dict[_IdleTimeout, Any] = {}

    def timeout_ctx(self) -> "_IdleTimeout":
        """Wait for the next request of a connection, `keepalive` seconds at most."""
        return _IdleTimeout(self.cfg.keepalive, self._idle)

    def run(self) -> None:
        """Serve until told to stop; then answer what has begun."""
        gevent.spawn(self._close_idle_when_stopping)
        super().run()

    def _close_idle_when_stopping(self) -> None:
        # Proxies hold connections for 90 s in case of another request. Without this, each of them would keep a stopping
        # worker for the whole of graceful_timeout.
        while self.alive:
            gevent.sleep(0.2)
        while True:
            for timeout, greenlet in list(self._idle.items()):
                gevent.kill(greenlet, timeout)
            gevent.sleep(0.2)

    def handle_request(self, listener_name: Any, req: Any, sock: Any, addr: Any) -> Any:
        """Answer one request."""
        joined = _HeadWithBody(sock)
        try:
            return super().handle_request(listener_name, req, joined, addr)
        finally:
            joined.flush()


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

    def __exit__(self, *error: Any) -> bool | None:
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
