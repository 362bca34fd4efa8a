"""The one judge of deletion: the whole table of records and restores, and no answer but its three for any bytes."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.clock import SKEW
from core.decide import Outcome, decide, eligible_since
from core.events import REMOVING, Event, Kind

OCCURRED = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
EVENT = Event(
    "resend:msg_1", "resend", Kind.HARD_BOUNCE, "jane@example.com", "jane@example.com", OCCURRED, OCCURRED, "rule"
)
SECONDS = int(OCCURRED.timestamp())


def fenced(value: object) -> bytes:
    return json.dumps({"name": "Jane", "eligible_since": value}).encode()


UNPROTECTED: dict[str, bytes] = {
    "empty value": b"",
    "empty object": b"{}",
    "no fence": b'{"name": "Jane"}',
    "fence older": fenced((OCCURRED - SECOND).isoformat()),
    "fence equal": fenced(OCCURRED.isoformat()),
    "fence equal, other offset": fenced("2026-11-01T14:00:00+02:00"),
    "fence equal, Z": fenced("2026-11-01T12:00:00Z"),
    "fence equal, no offset": fenced("2026-11-01T12:00:00"),
    "fence of the same day": fenced("2026-11-01"),
    "fence equal, seconds": fenced(SECONDS),
    "fence equal, float": fenced(float(SECONDS)),
    "fence equal, milliseconds": fenced(SECONDS * 1000),
    "fence at zero": fenced(0),
    "fence before the epoch": fenced(-1.5),
    "fence over five minutes ahead": fenced((NOW + SKEW + SECOND).isoformat()),
    "fence over five minutes ahead, number": fenced((NOW + SKEW + SECOND).timestamp()),
    "fence far ahead": fenced("2999-01-01T00:00:00Z"),
    "fence unparsable": fenced("yesterday"),
    "fence empty": fenced(""),
    "fence a date that never was": fenced("2026-02-30"),
    "fence out of range": fenced("0001-01-01T00:00:00+14:00"),
    "fence a number as text": fenced(str(SECONDS + 1)),
    "fence a huge number": fenced(10**400),
    "fence an endless number": b'{"eligible_since": ' + b"9" * 5000 + b"}",
    "fence not a number": fenced(float("nan")),
    "fence infinite": fenced(float("inf")),
    "fence true": fenced(True),
    "fence null": fenced(None),
    "fence a list": fenced(["2026-11-02"]),
    "fence an object": fenced({"at": "2026-11-02"}),
    "fence one level down": b'{"profile": {"eligible_since": "2026-11-02"}}',
    "name of another case": b'{"Eligible_Since": "2026-11-02"}',
    "a list": b'[{"eligible_since": "2026-11-02"}]',
    "a text": b'"eligible_since"',
    "a number": b"5",
    "null": b"null",
    "no JSON": b"eligible_since=2026-11-02",
    "cut JSON": b'{"eligible_since": "2026-11-02"',
    "no UTF-8": b'{"eligible_since": "2026-11-02", "name": "\xff"}',
    "nested without end": b'{"eligible_since": ' + b"[" * 100_000,
    "pickle": b"\x80\x04\x95eligible_since\x94.",
}

PROTECTED: dict[str, bytes] = {
    "fence newer": fenced((OCCURRED + SECOND).isoformat()),
    "fence newer by a microsecond": fenced((OCCURRED + timedelta(microseconds=1)).isoformat()),
    "fence newer, other offset": fenced("2026-11-01T14:00:01+02:00"),
    "fence newer, Z": fenced("2026-11-01T12:00:01Z"),
    "fence newer, no offset": fenced("2026-11-01T12:00:01"),
    "fence newer, blanks around": fenced(" 2026-11-01T12:00:01Z\n"),
    "fence of the next day": fenced("2026-11-02"),
    "fence newer, seconds": fenced(SECONDS + 1),
    "fence newer, float": fenced(SECONDS + 0.5),
    "fence newer, milliseconds": fenced(SECONDS * 1000 + 1),
    "fence now": fenced(NOW.isoformat()),
    "fence five minutes ahead": fenced((NOW + SKEW).isoformat()),
    "name with an escape": b'{"eligible\\u005fsince": "2026-11-02"}',
    "name all escapes": (
        "{" + f'"{"".join(f"{chr(92)}u{ord(c):04x}" for c in "eligible_since")}": 1793620801' + "}"
    ).encode(),
    "the last of two": b'{"eligible_since": "2020-01-01", "eligible_since": "2026-11-02"}',
    "blanks and a byte-order mark": b'\xef\xbb\xbf { "eligible_since" : "2026-11-02" } ',
}

NOT_RESTORED = {"never": None, "before the event": OCCURRED - SECOND}
RESTORED = {"at its instant": OCCURRED, "after it": OCCURRED + SECOND}


@pytest.mark.parametrize("restored_at", NOT_RESTORED.values(), ids=NOT_RESTORED)
@pytest.mark.parametrize("record", UNPROTECTED.values(), ids=UNPROTECTED)
def test_a_record_without_a_newer_consent_is_removed(record: bytes, restored_at: datetime | None) -> None:
    assert decide(EVENT, record, restored_at, NOW) is Outcome.REMOVED


@pytest.mark.parametrize("restored_at", NOT_RESTORED.values(), ids=NOT_RESTORED)
@pytest.mark.parametrize("record", PROTECTED.values(), ids=PROTECTED)
def test_an_event_older_than_the_consent_is_stale(record: bytes, restored_at: datetime | None) -> None:
    assert decide(EVENT, record, restored_at, NOW) is Outcome.STALE


@pytest.mark.parametrize("restored_at", NOT_RESTORED.values(), ids=NOT_RESTORED)
def test_no_record_is_absent(restored_at: datetime | None) -> None:
    assert decide(EVENT, None, restored_at, NOW) is Outcome.ABSENT


@pytest.mark.parametrize("restored_at", RESTORED.values(), ids=RESTORED)
@pytest.mark.parametrize(
    "record", [None, *(UNPROTECTED | PROTECTED).values()], ids=["absent", *UNPROTECTED, *PROTECTED]
)
def test_an_event_not_newer_than_a_restore_is_stale_whatever_the_record(
    record: bytes | None, restored_at: datetime
) -> None:
    assert decide(EVENT, record, restored_at, NOW) is Outcome.STALE


@pytest.mark.parametrize("kind", sorted(REMOVING))
def test_both_removing_kinds_obey_the_consent(kind: Kind) -> None:
    event = replace(EVENT, kind=kind)

    assert decide(event, PROTECTED["fence newer"], None, NOW) is Outcome.STALE
    assert decide(event, UNPROTECTED["fence equal"], None, NOW) is Outcome.REMOVED
    assert decide(event, b"{}", OCCURRED, NOW) is Outcome.STALE


def test_a_consent_is_read_as_aware_utc() -> None:
    since = eligible_since(fenced("2026-11-01T14:00:00+02:00"), NOW)

    assert since == OCCURRED
    assert since is not None
    assert since.tzinfo is UTC


any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(alphabet=st.characters(), max_size=30)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)
records = st.one_of(
    st.binary(max_size=50),
    st.binary(max_size=30).map(lambda tail: b'{"eligible_since": ' + tail),
    any_json.map(fenced),
    any_json.map(lambda value: json.dumps(value).encode()),
    st.datetimes(timezones=st.timezones()).map(lambda moment: fenced(moment.isoformat())),
)


@given(records, st.one_of(st.none(), st.datetimes(timezones=st.just(UTC))))
@example(b'{"eligible_since": 1e308}', None)
@example(b'{"eligible_since": -1e17}', None)
def test_no_bytes_make_the_decision_raise(record: bytes, restored_at: datetime | None) -> None:
    assert decide(EVENT, record, restored_at, NOW) in (Outcome.REMOVED, Outcome.STALE)


@given(st.datetimes(datetime(2000, 1, 1), datetime(2026, 11, 29, 12, 5), timezones=st.just(UTC)))
def test_a_readable_consent_decides_by_its_order_to_the_event_alone(since: datetime) -> None:
    expected = Outcome.STALE if since > OCCURRED else Outcome.REMOVED

    assert decide(EVENT, fenced(since.isoformat()), None, NOW) is expected
