"""One Cloudflare Queue with a pull consumer, on loopback HTTP, written from Cloudflare's documentation.

It enforces the token and the limits, leases messages, and gives again what was not acked, `max_retries` times.
"""

import base64
import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ACTIONS = ("pull", "ack")
TOKEN, ACCOUNT, QUEUE = "made-up-token", "account-1", "queue-1"
MOST_MESSAGES, LONGEST_MS, LONGEST_DELAY_S = 100, 12 * 3_600_000, 12 * 3_600


@dataclass
class Message:
    """A message in the queue; `lease_id` is its last lease, and it is not handed out before `visible_at`."""

    body: Any
    content_type: str
    queued_at: float
    attempts: int = 0
    lease_id: str = ""
    visible_at: float = 0.0


@dataclass(frozen=True)
class Trouble:
    """An answer that is given instead of the right one."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"success": false, "errors": [{"code": 10000, "message": "made up"}], "result": null}'


@dataclass
class Gate:
    """Where calls of one action may have to wait."""

    passable: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    honoured: bool = True

    def __post_init__(self) -> None:
        self.passable.set()

    def pass_through(self) -> bool:
        """Whether the call that has come is to have an effect, once it may pass."""
        if self.passable.is_set():
            return True
        self.reached.set()
        self.passable.wait()
        return self.honoured


class Refused(Exception):
    """The request is wrong: 4xx."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status, self.text = status, text


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that were killed have closed their connections."""


class FakeCloudflare:
    """The queue as a test sees and steers it; `url` is the base URL of the API."""

    def __init__(self, max_retries: int = 100) -> None:
        self.messages: list[Message] = []
        self.dropped: list[Message] = []
        self.calls: list[tuple[str, float]] = []  # action and when, by our own clock
        self._gates = {action: Gate() for action in ACTIONS}
        self._troubles: dict[str, list[Trouble]] = {action: [] for action in ACTIONS}
        self._max_retries = max_retries
        self._ahead_s = 0.0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/client/v4"

    @property
    def environ(self) -> dict[str, str]:
        """The settings that make a process pull this queue."""
        return {
            "CLOUDFLARE_API_URL": self.url,
            "CLOUDFLARE_API_TOKEN": TOKEN,
            "CLOUDFLARE_ACCOUNT_ID": ACCOUNT,
            "CLOUDFLARE_QUEUE_ID": QUEUE,
        }

    def put(self, body: Any, content_type: str = "json", *, encoded: bool = True) -> None:
        """Queue a body, as a subscription does; `encoded=False` leaves it as it is, whatever its content type."""
        if isinstance(body, dict):
            body = json.dumps(body)
        if encoded and content_type in ("json", "bytes"):
            body = base64.b64encode(body.encode()).decode()
        with self._lock:
            self.messages.append(Message(body, content_type, self.now()))

    def trouble(self, action: str, *troubles: Trouble) -> None:
        """Answer the next calls of `action` (pull or ack) like this."""
        self._troubles[action] = list(troubles)

    def hold(self, action: str) -> None:
        """Let calls of `action` wait, unanswered."""
        self._gates[action] = Gate()
        self._gates[action].passable.clear()

    def wait_for(self, action: str) -> None:
        """Return once a call of `action` waits."""
        assert self._gates[action].reached.wait(30), f"no {action} came"

    def release(self, action: str, *, honoured: bool = True) -> None:
        """Answer the waiting calls of `action`, and later ones at once; not `honoured`, the waiting ones are lost."""
        self._gates[action].honoured = honoured
        self._gates[action].passable.set()

    def advance(self, seconds: float) -> None:
        """Put the queue's clock forward: leases end, delays pass."""
        self._ahead_s += seconds

    def calls_of(self, action: str) -> list[float]:
        """When calls of `action` came."""
        return [at for name, at in self.calls if name == action]

    def stop(self) -> None:
        for action in ACTIONS:
            self.release(action)
        self._server.shutdown()
        self._server.server_close()

    def answer(self, action: str, token: str, asked: dict[str, Any]) -> Trouble | dict[str, Any]:
        """The result of a call, or the trouble that strikes it."""
        self.calls.append((action, time.monotonic()))
        if self._troubles[action]:
            return self._troubles[action].pop(0)
        if token != f"Bearer {TOKEN}":
            raise Refused(401, "Authentication error")
        if not self._gates[action].pass_through():
            return Trouble(503)
        with self._lock:
            return self._pull(asked) if action == "pull" else self._ack(asked)

    def _pull(self, asked: dict[str, Any]) -> dict[str, Any]:
        size, timeout_ms = asked.get("batch_size", 5), asked.get("visibility_timeout_ms", 30_000)
        if not 1 <= size <= MOST_MESSAGES or not 1 <= timeout_ms <= LONGEST_MS:
            raise Refused(400, "batch_size or visibility_timeout_ms is out of bounds")
        now = self.now()
        self._drop(now)
        taken = [one for one in self.messages if one.visible_at <= now][:size]
        for one in taken:
            one.attempts += 1
            one.lease_id, one.visible_at = f"lease-{uuid.uuid4().hex}", now + timeout_ms / 1000
        return {"message_backlog_count": len(self.messages), "messages": [_shown(one) for one in taken]}

    def _drop(self, now: float) -> None:
        used_up = [one for one in self.messages if one.visible_at <= now and one.attempts > self._max_retries]
        self.dropped += used_up
        self.messages = [one for one in self.messages if one not in used_up]

    def _ack(self, asked: dict[str, Any]) -> dict[str, Any]:
        acked = {one["lease_id"] for one in asked.get("acks", [])}
        again = {one["lease_id"]: one.get("delay_seconds", 0) for one in asked.get("retries", [])}
        if not all(0 <= delay_s <= LONGEST_DELAY_S for delay_s in again.values()):
            raise Refused(400, "delay_seconds is out of bounds")
        before = len(self.messages)
        self.messages = [one for one in self.messages if one.lease_id not in acked]
        retried = [one for one in self.messages if one.lease_id in again]
        for one in retried:
            one.visible_at = self.now() + again[one.lease_id]
        return {"ackCount": before - len(self.messages), "retryCount": len(retried), "warnings": {}}

    def now(self) -> float:
        """The queue's clock, in seconds since 1970."""
        return time.time() + self._ahead_s


@contextmanager
def serving(max_retries: int = 100) -> Iterator[FakeCloudflare]:
    """A queue that answers until the end of the block."""
    one = FakeCloudflare(max_retries)
    yield one
    one.stop()


def _shown(message: Message) -> dict[str, Any]:
    return {
        "id": uuid.uuid4().hex,
        "timestamp_ms": int(message.queued_at * 1000),
        "attempts": message.attempts,
        "lease_id": message.lease_id,
        "body": message.body,
        "metadata": {"CF-sourceMessageSource": "made-up", "CF-Content-Type": message.content_type},
    }


def _handler(queue: FakeCloudflare) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            prefix, _, action = self.path.rpartition("/")
            try:
                if prefix != f"/client/v4/accounts/{ACCOUNT}/queues/{QUEUE}/messages" or action not in ACTIONS:
                    raise Refused(404, "Queue does not exist")
                result = queue.answer(action, self.headers.get("authorization", ""), asked)
            except Refused as error:
                result = Trouble(error.status, body=_envelope(None, [{"code": 10001, "message": error.text}]))
            if isinstance(result, Trouble):
                self._say(result.status, result.body, result.headers)
            else:
                self._say(200, _envelope(result, []), {})

        def _say(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in {
                "content-type": "application/json",
                "content-length": str(len(body)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


def _envelope(result: Any, errors: list[dict[str, Any]]) -> bytes:
    return json.dumps({"success": not errors, "errors": errors, "messages": [], "result": result}).encode()
