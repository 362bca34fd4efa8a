"""Posts signed webhooks about accepted mails, several at once, each until it is taken or has failed too often."""

import heapq
import itertools
import json
import time
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import gevent
from gevent.event import Event
from gevent.queue import Queue

from core.clock import utc_now
from dev.sandbox import outcomes
from dev.sandbox.faults import Settings
from dev.sandbox.outbox import Kept, webhook_data
from dev.sandbox.poster import Poster
from providers.resend import Resend

ATTEMPTS = 14
BACKOFF_FIRST_S, BACKOFF_LAST_S = 0.1, 5.0  # 14 attempts span 45 s: longer than a web process takes to come back
MOST_GIVEN_UP = 100_000


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook to be posted; its id stays the same over all attempts."""

    id: str
    type: str
    mail: Kept
    more: Any
    at: float
    attempt: int = 1

    def body(self) -> bytes:
        moment = datetime.fromtimestamp(self.at, UTC).isoformat()
        data = webhook_data(self.mail) | {"created_at": datetime.fromtimestamp(self.mail.at, UTC).isoformat()}
        return json.dumps({"type": self.type, "created_at": moment, "data": data | self.more}).encode()


class Courier:
    """Delivers webhooks to `url`, signed with `secret`, by `posters` greenlets; does nothing where `url` is empty."""

    def __init__(self, url: str, secret: str, posters: int) -> None:
        self._url = url
        self._signer = Resend((secret,)) if url else None
        self._posters = posters
        self._numbers = itertools.count(1)
        self._prefix = f"msg_{time.time_ns():x}"
        self._waiting: list[tuple[float, int, Webhook]] = []  # a heap by due time
        self._due: Queue[Webhook] = Queue(maxsize=1)  # short, so that a pause takes effect at once
        self._changed = Event()
        self._given_up: deque[Webhook] = deque(maxlen=MOST_GIVEN_UP)
        self._under_way = 0
        self._generation = 0
        self.paused = False
        self.delivered = 0
        self.failed_attempts = 0

    def start(self) -> None:
        """Begin to deliver."""
        if self._signer is not None:
            gevent.spawn(self._schedule)
            for _ in range(self._posters):
                gevent.spawn(self._deliver_all)

    def tell(self, mails: list[Kept], settings: Settings) -> None:
        """Plan the webhooks about mails that were just accepted."""
        if self._signer is None:
            return
        for mail in mails:
            for outcome in outcomes.of(mail, settings):
                at = mail.at + outcome.after_s
                number = next(self._numbers)
                webhook = Webhook(f"{self._prefix}_{number}", outcome.type, mail, outcome.more, at)
                heapq.heappush(self._waiting, (at, number, webhook))
        self._changed.set()

    def pause(self, paused: bool) -> None:
        """Hold all webhooks back, or let them go."""
        self.paused = paused
        self._changed.set()

    def redeliver(self) -> int:
        """Try once more what was given up; returns how many."""
        found = len(self._given_up)
        while self._given_up:
            self._again(replace(self._given_up.popleft(), attempt=1), 0.0)
        return found

    def reset(self) -> None:
        """Forget every webhook not yet delivered."""
        self._waiting.clear()
        self._given_up.clear()
        self._generation += 1
        self.delivered = self.failed_attempts = 0
        self.paused = False

    def pending(self) -> dict[str, int | bool]:
        """How many wait (those being posted included), and what became of the others."""
        return {
            "pending": len(self._waiting) + self._due.qsize() + self._under_way,
            "under_way": self._under_way,
            "delivered": self.delivered,
            "given_up": len(self._given_up),
            "failed_attempts": self.failed_attempts,
            "paused": self.paused,
        }

    def _schedule(self) -> None:
        while True:
            self._changed.clear()
            wait_s = None if self.paused or not self._waiting else self._waiting[0][0] - time.time()
            if wait_s is None or wait_s > 0:
                self._changed.wait(wait_s)
                continue
            _, _, webhook = heapq.heappop(self._waiting)
            self._due.put(webhook)

    def _deliver_all(self) -> None:
        assert self._signer is not None
        poster = Poster(self._url)
        while True:
            webhook = self._due.get()
            self._under_way += 1
            try:
                self._deliver(poster, self._signer, webhook)
            finally:
                self._under_way -= 1

    def _deliver(self, poster: Poster, signer: Resend, webhook: Webhook) -> None:
        generation = self._generation
        body = webhook.body()
        status = poster.post(body, signer.sign(body, webhook.id, utc_now()).headers)
        if generation != self._generation:
            return
        if status == 200:
            self.delivered += 1
            return
        self.failed_attempts += 1
        if webhook.attempt >= ATTEMPTS:
            self._given_up.append(webhook)
            return
        backoff_s = min(BACKOFF_FIRST_S * 2 ** (webhook.attempt - 1), BACKOFF_LAST_S)
        self._again(replace(webhook, attempt=webhook.attempt + 1), backoff_s)

    def _again(self, webhook: Webhook, after_s: float) -> None:
        heapq.heappush(self._waiting, (time.time() + after_s, next(self._numbers), webhook))
        self._changed.set()
