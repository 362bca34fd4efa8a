"""Free TCP ports on loopback for private servers."""

import random
import socket
from pathlib import Path

LOOPBACK = "127.0.0.1"
LOWEST = 15_000  # above what people configure by hand
_given: set[int] = set()


def free_port() -> int:
    """A port on 127.0.0.1 that nobody listens on, never the same one twice; raises OSError if there is none."""
    for _ in range(1000):
        port = random.randrange(LOWEST, _lowest_ephemeral())
        if port not in _given and _is_free(port):
            _given.add(port)
            return port
    raise OSError("no free TCP port on 127.0.0.1: see `ss -ltn` for who holds them")


def _lowest_ephemeral() -> int:
    # Never from the kernel's ephemeral range: a client that retries while the server is down could be given the
    # server's port as its own end, connect to itself, and keep the server from coming back.
    try:
        lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 0
    return lowest if lowest > LOWEST + 1000 else 32_768


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
