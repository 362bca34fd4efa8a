"""What lies ready before the clock starts: recipient records in Redis, complaints about them in a queue."""

import json
import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice

import pika
import redis

from bench.filler import Message
from bench.peers.sync_payload import complaint
from core import wire
from core.events import Event, Kind
from core.messages import FIRST_ATTEMPT

MOMENT = datetime(2026, 11, 22, 23, 41, 12, 126000, UTC)
RECORD = '{"name":"Someone","list":"news"}'


def numbers(n: int) -> list[int]:
    """The recipients 0 … n-1 in a fixed random order: people do not complain in the order of an index."""
    order = list(range(n))
    random.Random(2026).shuffle(order)
    return order


def fill_store(store: redis.Redis, n: int, further: int) -> None:
    """Empty the database, then store `n` records that will be removed and `further` ones that nothing is about."""
    store.flushdb()
    names = _names(n, further)
    while chunk := list(islice(names, 1000)):
        store.mset({f"recipient:{name}@example.com": RECORD for name in chunk})


def as_events(order: Iterable[int]) -> Iterator[Message]:
    """Complaints as the product's own webhook would queue them."""
    for position, number in enumerate(order):
        address = f"user{number}@example.com"
        event = Event(
            event_id=f"resend:msg_{position:027d}",
            provider="resend",
            kind=Kind.COMPLAINT,
            recipient=address,
            recipient_verbatim=address,
            occurred_at=MOMENT,
            received_at=MOMENT,
            rule="resend.complained",
            provider_message_id=f"56761188-7520-42d8-8898-{number:012d}",
            environment="bench",
        )
        yield (
            wire.encode(event),
            pika.BasicProperties(
                content_type="application/json",
                delivery_mode=2,
                message_id=event.event_id,
                headers=dict(FIRST_ATTEMPT),
            ),
        )


def as_payloads(order: Iterable[int]) -> Iterator[Message]:
    """Complaints as the provider shapes them, for the peers."""
    properties = pika.BasicProperties(content_type="application/json", delivery_mode=2)
    for number in order:
        yield json.dumps(complaint(number)).encode(), properties


def _names(n: int, further: int) -> Iterator[str]:
    yield from (f"user{number}" for number in range(n))
    yield from (f"further{number}" for number in range(further))
