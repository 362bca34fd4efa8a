"""The pull consumer's side of a Cloudflare Queue: lease messages, and settle the leases. One thread uses a client.

Source: the Cloudflare documentation, "Pull consumers", "Limits" and "Error codes" of Queues, and its API reference. A
lease that nobody settles ends after VISIBLE_S, and the message comes again, at most `max_retries` times; settling later
is honoured too, unless somebody else has leased the message by then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

import requests

from config.settings import Settings
from core.errors import Outage, Permanent
from providers import payload
from providers.cloudflare_message import Pulled, leased
from providers.conditions import found

MOST_MESSAGES = 100  # of one pull; the API's own limit
VISIBLE_S = 60  # longer than publishing takes where it takes longest, and short enough after we were killed
CONNECT_S, READ_S = 3.0, 8.0
MOST_BYTES = 32 * 1024 * 1024  # of an answer: a hundred bodies of 128 KB as base64, twice
LONGEST_WAIT_S = 900.0  # the API forgives after five minutes; what asks for more is nonsense
BUSY_STATUSES = frozenset({408, 425, 429})

_ADVICE = {
    401: "CLOUDFLARE_API_TOKEN is not accepted: make an API token with the account permission Queues: Edit",
    403: "CLOUDFLARE_API_TOKEN may not do this: it needs the account permission Queues: Edit, of CLOUDFLARE_ACCOUNT_ID",
    404: "there is no such queue: CLOUDFLARE_QUEUE_ID is its id, not its name, and CLOUDFLARE_ACCOUNT_ID its account's",
}
_OTHERWISE = "check CLOUDFLARE_API_URL, and that the queue has a pull consumer: wrangler queues consumer http add QUEUE"


class QueueAway(Outage):
    """The API does not answer, or asks us to wait: `retry_after_s` seconds if it says how long, else 0."""

    def __init__(self, code: str, text: str, retry_after_s: float = 0.0) -> None:
        super().__init__(code, text)
        self.retry_after_s = retry_after_s


class QueueRefused(Permanent):
    """The API will not do it until a person changes something; the text says what, and what the API said.

    `for_all`: it will do nothing for us at all, whatever we ask (credentials, or the queue's name).
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"http_{status}", text)
        self.for_all = status in _ADVICE


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of leases: `done` are acked; `again` are given back, to come again after `delay_s` seconds."""

    done: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    delay_s: int = 0


class CloudflareQueue:
    """A client of one queue. Every call raises QueueAway or QueueRefused, and nothing else."""

    def __init__(self, api_url: str, account_id: str, queue_id: str, token: str) -> None:
        self._url = f"{api_url}/accounts/{quote(account_id, safe='')}/queues/{quote(queue_id, safe='')}/messages"
        self._session = requests.Session()
        self._session.trust_env = False  # a .netrc would replace the token
        self._session.headers["Authorization"] = f"Bearer {token}"

    def pull(self, now: datetime) -> list[Pulled]:
        """Lease what waits, at most MOST_MESSAGES, for VISIBLE_S; empty at once if nothing does."""
        asked = {"batch_size": MOST_MESSAGES, "visibility_timeout_ms": VISIBLE_S * 1000}
        items = found(self._post("pull", asked), "messages")
        if not isinstance(items, list):
            raise QueueAway("unreadable_answer", "the answer to a pull has no list of messages")
        return [one for one in (leased(item, now) for item in items) if one is not None]

    def settle(self, settlement: Settlement) -> None:
        """Ack and give back leases, in one call."""
        acks = [{"lease_id": lease_id} for lease_id in settlement.done]
        retries = [{"lease_id": lease_id, "delay_seconds": settlement.delay_s} for lease_id in settlement.again]
        self._post("ack", {"acks": acks, "retries": retries})

    def close(self) -> None:
        """Let go of the connection."""
        self._session.close()

    def _post(self, action: str, asked: object) -> object:
        """The `result` of an answer that says success."""
        try:
            with self._session.post(
                f"{self._url}/{action}", json=asked, timeout=(CONNECT_S, READ_S), allow_redirects=False, stream=True
            ) as answer:
                content = _bounded(answer)
        except (requests.RequestException, OSError) as error:
            raise QueueAway("unreachable", f"{action}: {type(error).__name__}") from None
        said = _object(content)
        if answer.status_code != requests.codes.ok:
            raise _failure(action, answer, said)
        if found(said, "success") is not True:
            raise QueueAway("unreadable_answer", f"{action}: a 200 without success: {_errors(said)}")
        return found(said, "result")


def configured(settings: Settings) -> CloudflareQueue | None:
    """The queue that `settings` name; None where they name none (of one that is named in part, there is no boot)."""
    own = settings.providers
    if not own.cloudflare_api_token:
        return None
    return CloudflareQueue(
        own.cloudflare_api_url, settings.cloudflare_account_id, own.cloudflare_queue_id, own.cloudflare_api_token
    )


def _bounded(answer: requests.Response) -> bytes:
    content = bytearray()
    for chunk in answer.iter_content(64 * 1024):
        content += chunk
        if len(content) > MOST_BYTES:
            raise QueueAway("unreadable_answer", f"more than {MOST_BYTES} bytes")
    return bytes(content)


def _object(content: bytes) -> dict[str, object]:
    try:
        return payload.read_object(content)
    except payload.Unreadable:
        return {}


def _failure(action: str, answer: requests.Response, said: dict[str, object]) -> QueueAway | QueueRefused:
    status = answer.status_code
    if status >= 500 or status in BUSY_STATUSES:
        code = "rate_limited" if status == 429 else "busy"
        return QueueAway(code, f"{action}: {status} {_errors(said)}", _seconds(answer.headers.get("retry-after", "")))
    advice = _ADVICE.get(status, _OTHERWISE)
    return QueueRefused(status, f"{advice}. Cloudflare said to {action}: {status} {_errors(said)}")


def _errors(said: dict[str, object]) -> str:
    """The errors of the API's envelope in one bounded line."""
    errors = found(said, "errors")
    listed: Sequence[object] = errors[:3] if isinstance(errors, list) else ()
    texts = (payload.detail({"error": one}, {"error": ("code", "message")}) for one in listed)
    return "; ".join(text for text in texts if text)[:300]


def _seconds(header: str) -> float:
    text = header.strip()
    wait_s = float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0.0
    return wait_s if wait_s <= LONGEST_WAIT_S else 0.0
