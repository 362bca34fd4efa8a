"""The event on the wire: what goes out comes back, and whatever else arrives is one of two errors and never a third."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import wire
from core.errors import NewerVersion, Undecodable
from core.events import Event, Kind

EVENT = Event(
    event_id="resend:msg_1",
    provider="resend",
    kind=Kind.HARD_BOUNCE,
    recipient="jane@example.com",
    recipient_verbatim="Jane@Example.com",
    occurred_at=datetime(2026, 11, 1, 12, 0, 0, 123456, tzinfo=UTC),
    received_at=datetime(2026, 11, 1, 12, 0, 5, tzinfo=UTC),
    rule="bounce.permanent",
    provider_message_id="em_1",
    campaign_id="spring",
    recipient_id="r-1",
    environment="production",
    detail="550 5.1.1 no such user",
)
MEMBERS: dict[str, Any] = json.loads(wire.encode(EVENT))
OPTIONAL = ("provider_message_id", "campaign_id", "recipient_id", "environment", "detail")
REQUIRED = tuple(name for name in MEMBERS if name not in OPTIONAL)
NO_TEXT: tuple[object, ...] = (None, 5, 1.5, True, [], ["a"], {}, {"a": 1})
NO_TIME = (*NO_TEXT, "", "yesterday", "2026-11-01", "2026-11-01T12:00:00", "2026-13-01T00:00:00Z", "1700000000")

moments = st.datetimes(timezones=st.just(UTC))
texts = st.text(max_size=20)
names = st.text(min_size=1, max_size=20)
events = st.builds(
    Event, event_id=names, provider=names, kind=st.sampled_from(Kind), recipient=names, recipient_verbatim=names,
    occurred_at=moments, received_at=moments, rule=texts, provider_message_id=texts, campaign_id=texts,
    recipient_id=texts, environment=texts, detail=texts,
)  # fmt: skip
odd_texts = st.one_of(
    st.text(alphabet=st.characters(), max_size=5),
    st.sampled_from(["\ud800", "\x00", "2026-11-01T12:00:00+02:00", "20261101T120000Z", "2026-W44-7T12:00:00Z"]),
    st.sampled_from(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-01 12:00Z", "other"]),
)
odd_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_texts),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)


def changed(**members: Any) -> bytes:
    return json.dumps(MEMBERS | members).encode()


@given(events)
def test_every_event_comes_back_as_it_was_sent(event: Event) -> None:
    assert wire.decode(wire.encode(event)) == event


def test_the_wire_form_is_json_of_version_1_with_iso_times() -> None:
    assert (MEMBERS["v"], MEMBERS["kind"]) == (1, "hard_bounce")
    assert MEMBERS["occurred_at"] == "2026-11-01T12:00:00.123456+00:00"


@given(st.dictionaries(st.sampled_from([*MEMBERS, "later"]), odd_values, max_size=3))
def test_whatever_the_fast_reading_accepts_the_schema_loads_as_an_equal_event(changes: dict[str, Any]) -> None:
    data = json.loads(json.dumps(MEMBERS | changes))

    fast = wire._fast(json.dumps(data).encode())

    assert fast is None or fast == wire.EventSchema().load(data)


@pytest.mark.parametrize("version", [True, 1.0])
def test_the_fast_reading_takes_no_other_value_that_equals_the_version(version: object) -> None:
    assert wire._fast(json.dumps(MEMBERS | {"v": version}).encode()) is None


def test_the_fast_reading_accepts_what_encode_writes() -> None:
    assert wire._fast(wire.encode(EVENT)) == EVENT


@given(st.dictionaries(st.sampled_from([*MEMBERS, "later"]), odd_values, max_size=3))
def test_a_changed_message_is_an_event_or_one_of_the_two_errors(changes: dict[str, Any]) -> None:
    try:
        event = wire.decode(changed(**changes))
    except (Undecodable, NewerVersion):
        return

    assert wire.decode(wire.encode(event)) == event


@given(st.one_of(st.binary(max_size=60), odd_values.map(lambda value: json.dumps(value).encode())))
def test_a_body_that_is_no_message_is_undecodable_or_newer(body: bytes) -> None:
    with pytest.raises((Undecodable, NewerVersion)):
        wire.decode(body)


@pytest.mark.parametrize("name", REQUIRED)
def test_a_message_without_a_required_member_is_undecodable(name: str) -> None:
    members = {key: value for key, value in MEMBERS.items() if key != name}

    with pytest.raises(Undecodable, match=name):
        wire.decode(json.dumps(members).encode())


@pytest.mark.parametrize("name", OPTIONAL)
def test_an_optional_member_that_is_absent_is_empty(name: str) -> None:
    members = {key: value for key, value in MEMBERS.items() if key != name}

    assert getattr(wire.decode(json.dumps(members).encode()), name) == ""


@pytest.mark.parametrize("value", NO_TEXT, ids=repr)
@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "v"])
def test_a_member_of_another_type_is_undecodable(name: str, value: object) -> None:
    with pytest.raises(Undecodable, match=name):
        wire.decode(changed(**{name: value}))


@pytest.mark.parametrize("value", NO_TIME, ids=repr)
@pytest.mark.parametrize("name", ["occurred_at", "received_at"])
def test_a_time_that_is_no_aware_iso_time_is_undecodable(name: str, value: object) -> None:
    with pytest.raises(Undecodable, match=name):
        wire.decode(changed(**{name: value}))


@pytest.mark.parametrize("name", ["event_id", "provider", "kind", "recipient", "recipient_verbatim"])
def test_an_empty_name_is_undecodable(name: str) -> None:
    with pytest.raises(Undecodable, match=name):
        wire.decode(changed(**{name: ""}))


@pytest.mark.parametrize("kind", ["bounce", "HARD_BOUNCE", " complaint"])
def test_an_unknown_kind_is_undecodable(kind: str) -> None:
    with pytest.raises(Undecodable, match="kind"):
        wire.decode(changed(kind=kind))


@pytest.mark.parametrize("version", [0, -1, "1", "2", 1.0, 2.0, True, False, None, [], {}, float("nan"), float("inf")])
def test_a_version_that_never_was_is_undecodable(version: object) -> None:
    with pytest.raises(Undecodable, match="v'"):
        wire.decode(changed(v=version))


@pytest.mark.parametrize("version", [2, 3, 10**30])
def test_a_newer_version_is_told_apart_whatever_else_it_holds(version: int) -> None:
    with pytest.raises(NewerVersion):
        wire.decode(json.dumps({"v": version, "kind": ["new"]}).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"null",
        b"5",
        b'"text"',
        b"[]",
        b"NaN",
        b"{",
        b'{"v": 1',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"v":' * 100_000,
        b'{"v": ' + b"9" * 5000 + b"}",
        b"{} {}",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_no_json_object_is_undecodable(body: bytes) -> None:
    with pytest.raises(Undecodable):
        wire.decode(body)


@pytest.mark.parametrize("escape", [b"\\ud800", b"\\uDFFF"])
@pytest.mark.parametrize("name", ["event_id", "recipient", "campaign_id", "detail", "rule"])
def test_half_a_character_is_undecodable_since_no_store_could_take_it(name: str, escape: bytes) -> None:
    with pytest.raises(Undecodable):
        wire.decode(changed(**{name: "half"}).replace(b"half", escape))


def test_a_character_beyond_the_basic_plane_is_no_half() -> None:
    assert wire.decode(changed(detail="\U0001f4ee")).detail == "\U0001f4ee"


@pytest.mark.parametrize("value", [1, None, [], {"deep": [[[]]]}, float("nan")], ids=repr)
def test_members_of_a_later_revision_are_ignored(value: object) -> None:
    assert wire.decode(changed(later=value)) == EVENT


@pytest.mark.parametrize("hours", [2, -5, 14])
def test_a_time_of_another_offset_is_normalised_to_utc(hours: int) -> None:
    elsewhere = EVENT.occurred_at.astimezone(timezone(timedelta(hours=hours)))

    event = wire.decode(changed(occurred_at=elsewhere.isoformat()))

    assert event == EVENT
    assert event.occurred_at.tzinfo is UTC


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_has_no_place_in_utc_is_undecodable(moment: str) -> None:
    with pytest.raises(Undecodable):
        wire.decode(changed(occurred_at=moment))


def test_the_error_never_holds_the_values_of_the_message() -> None:
    with pytest.raises(Undecodable) as refusal:
        wire.decode(changed(kind="secret", occurred_at="secret", recipient=["secret"]))

    assert "secret" not in str(refusal.value)
