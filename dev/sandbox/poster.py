"""Posts over one kept connection, with little work of its own: the sandbox shares its cores with what it tests."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import closing, suppress
from http.client import HTTPException, HTTPResponse
from urllib.parse import urlsplit

TIMEOUT_S = 15.0  # Resend gives up after that long


class Poster:
    """Posts to `url`, one at a time."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        self._head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        self._connection: socket.socket | None = None

    def post(self, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer, 0 where none came."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        request = f"{self._head}{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body
        try:
            return self._exchange(request)
        except (OSError, HTTPException):
            self._close()
            return 0

    def _exchange(self, request: bytes) -> int:
        if self._connection is None:
            self._connection = self._connect()
        self._connection.sendall(request)
        with closing(HTTPResponse(self._connection, method="POST")) as response:
            response.begin()
            response.read()
            if response.will_close:
                self._close()
            return response.status

    def _connect(self) -> socket.socket:
        connection = socket.create_connection((self._host, self._port), TIMEOUT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls:
            return ssl.create_default_context().wrap_socket(connection, server_hostname=self._host)
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
        self._connection = None
