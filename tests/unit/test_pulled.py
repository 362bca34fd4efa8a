"""From a leased message to a job: everything is read or parked, nothing is ever left to the queue's few retries."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.pulled import Job, Reader, counts, settlement
from core import parked, wire
from core.topology import Topology
from providers.base import Normalised, Request
from providers.cloudflare_message import Pulled
from providers.cloudflare_queue import Settlement
from providers.cloudflare_reading import Reading
from tests.unit.providers.payloads import recorded

QUEUED_AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
TOPOLOGY = Topology("unit.")
COMPLAINT = recorded("cloudflare", "complained")


class Crashing(Reading):
    """A reading with a bug."""

    def normalise(self, request: Request) -> Normalised:
        raise KeyError("a bug")


def lease(body: Any, content_type: str = "text", lease_id: str = "lease-1") -> Pulled:
    return Pulled(lease_id, content_type, body, QUEUED_AT, 1)


def job(body: Any, content_type: str = "text", reading: Reading | None = None) -> Job:
    return Reader(reading or Reading(), TOPOLOGY).job(lease(body, content_type))


def letter(made: Job) -> parked.Parked:
    (message,) = made.messages
    assert (message.exchange, message.routing_key) == (TOPOLOGY.work_exchange, TOPOLOGY.events.parked)
    return parked.decode(message.body)


@pytest.mark.parametrize(("wrap", "content_type"), [(bytes.decode, "text"), (base64.b64encode, "json")])
def test_an_event_becomes_a_message_for_the_work_queue_under_its_own_id(wrap: Any, content_type: str) -> None:
    body = wrap(COMPLAINT)
    made = job(body if isinstance(body, str) else body.decode(), content_type)

    (message,) = made.messages
    event = wire.decode(message.body)
    assert (made.lease_id, message.routing_key) == ("lease-1", TOPOLOGY.events.name)
    assert (event.event_id, event.recipient, event.rule) == (
        "cloudflare:01932f6e-0000-7000-8000-000000000042", "jane.doe@example.com", "cloudflare.complained"
    )  # fmt: skip


def test_an_event_without_a_time_happened_when_the_queue_took_it_however_often_it_comes() -> None:
    body = json.loads(COMPLAINT)
    del body["metadata"]["eventTimestamp"]

    event = wire.decode(job(json.dumps(body)).messages[0].body)

    assert (event.occurred_at, event.received_at) == (QUEUED_AT, QUEUED_AT)


def test_an_event_without_an_id_keeps_one_made_of_its_bytes_however_it_is_wrapped() -> None:
    body = recorded("cloudflare", "without_event_id")

    ids = {
        job(body.decode()).messages[0].message_id,
        job(base64.b64encode(body).decode(), "json").messages[0].message_id,
    }

    assert len(ids) == 1
    assert ids.pop().startswith("cloudflare:body-")


def test_what_is_only_counted_has_no_messages() -> None:
    made = job(recorded("cloudflare", "unknown_type").decode())

    assert (made.messages, counts([made])) == ([], {"messages": 1, "queued": 0, "parked": 0, "counted": 1})


def test_a_body_that_cannot_be_decoded_is_parked_as_it_came_with_its_content_type() -> None:
    found = letter(job("\x00v8\ud800", "v8"))

    assert (found.provider, found.headers, found.received_at) == ("cloudflare", {"cf-content-type": "v8"}, QUEUED_AT)
    assert found.body == b"\x00v8\xed\xa0\x80"
    assert found.items[0].index == -1


def test_a_decoded_body_is_parked_decoded_so_that_a_replay_can_read_it() -> None:
    found = letter(job(base64.b64encode(recorded("cloudflare", "schema_version_2")).decode(), "json"))

    assert (found.body, found.headers) == (recorded("cloudflare", "schema_version_2"), {})


def test_a_bug_of_the_reading_parks_the_message_for_the_mended_code() -> None:
    found = letter(job(COMPLAINT.decode(), reading=Crashing()))

    assert (found.body, found.items[0].reason) == (COMPLAINT, "reading it failed: KeyError")


@given(
    body=st.one_of(st.none(), st.text(), st.integers(), st.lists(st.text()), st.dictionaries(st.text(), st.text())),
    content_type=st.sampled_from(["", "json", "bytes", "text", "v8"]),
)
def test_no_body_is_lost_and_none_raises(body: Any, content_type: str) -> None:
    made = job(body, content_type)

    assert len(made.messages) + sum(made.said.counted.values()) == 1


def test_only_what_is_confirmed_is_acked() -> None:
    jobs = [Reader(Reading(), TOPOLOGY).job(lease(COMPLAINT.decode(), lease_id=name)) for name in "abcd"]

    assert settlement(jobs, [jobs[2], jobs[0]], 30) == Settlement(("c", "a"), ("b", "d"), 30)
