"""Load on a web server: `wrk` where it is installed, otherwise a generator of our own in Python.

Both keep CONNECTIONS connections busy, each with one request at a time, and post the same signed webhooks in turn.
"""

import asyncio
import os
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

CONNECTIONS = 32
SCRIPT = Path(__file__).with_name("ingest_post.lua")


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: requests answered with 2xx, over how many seconds, the 99th percentile, and what went wrong."""

    requests: int
    seconds: float
    p99_ms: float
    failures: int

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


def generator() -> str:
    """Which of the two is used here."""
    return "wrk" if shutil.which("wrk") else "the Python generator (wrk is not installed)"


def run(port: int, path: str, signed: Path, seconds: float) -> Measured:
    """Post the webhooks of the file `signed` (id, timestamp, signature, body; tabs between) to `path`."""
    return (_wrk if shutil.which("wrk") else _python)(port, path, signed, seconds)


def _wrk(port: int, path: str, signed: Path, seconds: float) -> Measured:
    url = f"http://127.0.0.1:{port}"
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s", str(SCRIPT), url, "--", path]
    environ = {"PATH": os.environ["PATH"], "BENCH_REQUESTS": str(signed)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    # The script's last line; see there.
    _, requests, took_s, p99_ms, refused, broken = done.stdout.strip().splitlines()[-1].split()
    failures = int(refused) + int(broken)
    return Measured(int(requests) - int(refused), float(took_s), float(p99_ms), failures)


def _python(port: int, path: str, signed: Path, seconds: float) -> Measured:
    requests = cycle([_rendered(path, line) for line in signed.read_text().splitlines()])
    latencies_ms: list[float] = []
    failures = 0

    async def client(deadline: float) -> None:
        nonlocal failures
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < deadline:
            started = time.monotonic()
            writer.write(next(requests))
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            failures += head[9:10] != b"2"
            latencies_ms.append((time.monotonic() - started) * 1000)
        writer.close()

    async def clients() -> None:
        deadline = time.monotonic() + seconds
        await asyncio.gather(*(client(deadline) for _ in range(CONNECTIONS)))

    started = time.monotonic()
    asyncio.run(clients())
    p99_ms = statistics.quantiles(latencies_ms, n=100)[98]
    return Measured(len(latencies_ms) - failures, time.monotonic() - started, p99_ms, failures)


def _rendered(path: str, line: str) -> bytes:
    message_id, timestamp, signature, body = line.split("\t")
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"svix-id: {message_id}\r\nsvix-timestamp: {timestamp}\r\nsvix-signature: {signature}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
