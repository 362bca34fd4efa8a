"""A server on loopback whose every connection plays a script: for what no well-behaved server would do."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Scripted:
    """Plays `script` on each connection; `requests` are the requests read so far, `connections` how many came."""

    def __init__(self, script: Callable[["Scripted", socket.socket], None]) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._script = script
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        # So that a client that writes more has to wait for us to read.
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def read_request(self, connection: socket.socket) -> bool:
        """Read one request with a Content-Length; false where the client has closed."""
        received = b""
        while b"\r\n\r\n" not in received:
            received += (chunk := connection.recv(65_536))
            if not chunk:
                return False
        head, _, body = received.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-l"))
        parts, missing = [body], length - len(body)
        while missing > 0:
            parts.append(connection.recv(1024 * 1024))
            missing -= len(parts[-1])
            if not parts[-1]:
                return False
        self.requests.append(head + b"\r\n\r\n" + b"".join(parts))
        return True

    def stop(self) -> None:
        self.stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._play, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _play(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(10)
            self._script(self, connection)


@contextmanager
def scripted(script: Callable[[Scripted, socket.socket], None]) -> Iterator[Scripted]:
    """A server that plays `script` on each of its connections while the block runs."""
    server = Scripted(script)
    try:
        yield server
    finally:
        server.stop()
