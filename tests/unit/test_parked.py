"""The parked message: raw bytes and reasons survive the queue, and whatever else arrives is one of two errors."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import parked
from core.errors import NewerVersion, Undecodable
from core.parked import Parked, ParkedReason

PARKED = Parked(
    provider="resend",
    headers={"svix-id": "msg_1", "svix-timestamp": "1793534400"},
    body=b'{"type": "email.bounced"}\xff\x00',
    received_at=datetime(2026, 11, 1, 12, 0, tzinfo=UTC),
    items=(ParkedReason(0, "two recipients"), ParkedReason(-1, "not JSON")),
)
MEMBERS: dict[str, Any] = json.loads(parked.encode(PARKED))

texts = st.text(max_size=20)
parkeds = st.builds(
    Parked,
    provider=texts,
    headers=st.dictionaries(texts, texts, max_size=4),
    body=st.binary(max_size=200),
    received_at=st.datetimes(timezones=st.just(UTC)),
    items=st.lists(st.builds(ParkedReason, st.integers(-1, 2000), texts), min_size=1, max_size=4).map(tuple),
)
odd_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(alphabet=st.characters(), max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)


def changed(**members: Any) -> bytes:
    return json.dumps(MEMBERS | members).encode()


@given(parkeds)
def test_every_parked_message_comes_back_as_it_was_sent(one: Parked) -> None:
    assert parked.decode(parked.encode(one)) == one


@given(st.dictionaries(st.sampled_from([*MEMBERS, "later"]), odd_values, max_size=3))
def test_a_changed_message_is_parked_or_one_of_the_two_errors(changes: dict[str, Any]) -> None:
    try:
        one = parked.decode(changed(**changes))
    except (Undecodable, NewerVersion):
        return

    assert one.items


@given(st.one_of(st.binary(max_size=60), odd_values.map(lambda value: json.dumps(value).encode())))
def test_a_body_that_is_no_message_is_undecodable_or_newer(body: bytes) -> None:
    with pytest.raises((Undecodable, NewerVersion)):
        parked.decode(body)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_message_without_one_of_its_members_is_undecodable(name: str) -> None:
    members = {key: value for key, value in MEMBERS.items() if key != name}

    with pytest.raises(Undecodable, match=name):
        parked.decode(json.dumps(members).encode())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("provider", None),
        ("headers", []),
        ("headers", {"svix-id": 5}),
        ("body", "not base64!"),
        ("body", "YQ"),
        ("body", "ü"),
        ("body", 5),
        ("received_at", "2026-11-01T12:00:00"),
        ("received_at", "now"),
        ("items", []),
        ("items", [{"index": "0", "reason": "text"}]),
        ("items", [{"index": 0}]),
        ("items", ["text"]),
        ("v", 0),
        ("v", "1"),
        ("v", 1.0),
    ],
)
def test_a_member_of_another_shape_is_undecodable(name: str, value: object) -> None:
    with pytest.raises(Undecodable, match=name):
        parked.decode(changed(**{name: value}))


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"v": ' + b"9" * 5000 + b"}"])
def test_a_body_that_is_no_json_object_is_undecodable(body: bytes) -> None:
    with pytest.raises(Undecodable):
        parked.decode(body)


def test_a_newer_version_is_told_apart_whatever_else_it_holds() -> None:
    with pytest.raises(NewerVersion):
        parked.decode(b'{"v": 2, "items": "all"}')


def test_members_of_a_later_revision_are_ignored() -> None:
    assert parked.decode(changed(later=[1], items=[item | {"later": 1} for item in MEMBERS["items"]])) == PARKED


def test_the_raw_bytes_travel_as_base64() -> None:
    assert base64.b64decode(MEMBERS["body"]) == PARKED.body
