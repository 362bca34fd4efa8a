"""Messages of a Cloudflare Queue: what was put into the queue, however the API wraps it."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.cloudflare_message import Pulled, leased
from providers.payload import Unreadable

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
EVENT = b'{"type": "cf.email.sending.message.delivered", "name": "J\xc3\xb6rg"}'
BASE64 = base64.b64encode(EVENT).decode()


def message(body: Any, content_type: Any = "json", **changes: Any) -> dict[str, Any]:
    metadata = {"CF-sourceMessageSource": "made-up", "CF-Content-Type": content_type}
    one = {"lease_id": "lease-1", "body": body, "attempts": 2, "timestamp_ms": 1796040000000, "metadata": metadata}
    return one | changes


def pulled(body: Any, content_type: Any = "json", **changes: Any) -> Pulled:
    one = leased(message(body, content_type, **changes), NOW)
    assert one is not None
    return one


@pytest.mark.parametrize("content_type", ["json", "JSON", "bytes", "", None, 5, "something-new"])
@pytest.mark.parametrize("body", [BASE64, EVENT.decode(), f" \n{EVENT.decode()}"])
def test_base64_and_plain_json_both_come_out_as_they_were_put_in(body: str, content_type: Any) -> None:
    assert pulled(body, content_type).content().strip() == EVENT


def test_text_is_taken_as_it_is_even_if_it_looks_like_base64() -> None:
    assert pulled("aGVsbG8=", "text").content() == b"aGVsbG8="


def test_an_object_that_the_api_has_decoded_itself_is_json_again() -> None:
    assert pulled({"type": "x"}).content() == b'{"type": "x"}'


@pytest.mark.parametrize(
    ("body", "content_type", "reason"),
    [
        ("/w8iBmhlbGxv", "v8", "v8, which only Workers can read"),
        ("hello world", "json", r"not base64 \(json\)"),
        ("aGVsbG8", "bytes", r"not base64 \(bytes\)"),
        ("aGVs bG8=", "json", "not base64"),
        ("h\u00e9", "json", "not base64"),
        ("\ud800", "", r"not base64 \(no type\)"),
        (None, "json", "has no body"),
        (5, "json", "has no body"),
        ([EVENT.decode()], "json", "has no body"),
    ],
)
def test_what_cannot_be_decoded_says_why_and_keeps_what_came(body: Any, content_type: str, reason: str) -> None:
    one = pulled(body, content_type)

    with pytest.raises(Unreadable, match=reason):
        one.content()
    assert one.raw()


@given(content=st.binary())
def test_any_bytes_survive_their_base64(content: bytes) -> None:
    assert pulled(base64.b64encode(content).decode(), "bytes").content() == content


def test_a_message_without_a_lease_cannot_be_settled_and_is_none() -> None:
    for item in (
        None,
        "x",
        [],
        {},
        message(BASE64, lease_id=None),
        message(BASE64, lease_id=""),
        message(1, lease_id=1),
    ):
        assert leased(item, NOW) is None


def test_the_time_at_which_the_queue_took_it_is_kept_and_is_never_in_the_future() -> None:
    before, after = (int((NOW + timedelta(hours=hours)).timestamp() * 1000) for hours in (-1, 1))

    assert pulled(BASE64, timestamp_ms=before).queued_at == NOW - timedelta(hours=1)
    assert pulled(BASE64, timestamp_ms=after).queued_at == NOW


@pytest.mark.parametrize("written", [None, "soon", {}, True, 10**30])
def test_a_time_that_cannot_be_read_is_now(written: Any) -> None:
    assert pulled(BASE64, timestamp_ms=written).queued_at == NOW


@pytest.mark.parametrize(("written", "attempts"), [(7, 7), (None, 1), ("7", 1), (True, 1)])
def test_deliveries_are_counted_from_one(written: Any, attempts: int) -> None:
    assert pulled(BASE64, attempts=written).attempts == attempts
