"""Records as text: stamped and carried without changing any other byte."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import records

MOMENT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
STAMP = '"2026-11-29T12:00:00+00:00"'

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
layouts = st.sampled_from([None, 0, 2, "\t"])


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("{}", f'{{"eligible_since":{STAMP}}}'),
        ("{ }", f'{{ "eligible_since":{STAMP}}}'),
        ('{"a": 1.10}\n', f'{{"a": 1.10,"eligible_since":{STAMP}}}\n'),
        ('{"eligible_since" : null, "b":1e400}', f'{{"eligible_since" : {STAMP}, "b":1e400}}'),
        ('{"eligible_since":1,"eligible_since":2}', f'{{"eligible_since":1,"eligible_since":{STAMP}}}'),
        ('{"a":"}"}', f'{{"a":"}}","eligible_since":{STAMP}}}'),
        ('{"a":{"eligible_since":1}}', f'{{"a":{{"eligible_since":1}},"eligible_since":{STAMP}}}'),
    ],
)
def test_a_stamp_changes_nothing_but_its_own_member(record: str, expected: str) -> None:
    assert records.stamp(record.encode(), MOMENT) == expected.encode()


@pytest.mark.parametrize(
    "record", [b"", b"active", b"1", b"[]", b'"{}"', b"null", b"{", b'{"a":NaN}', b'{"\xff":1}', b"[" * 100_000]
)
def test_what_is_no_json_object_cannot_be_stamped(record: bytes) -> None:
    assert records.stamp(record, MOMENT) is None


@given(st.dictionaries(st.text(), json_values, max_size=5), layouts, st.booleans())
def test_a_stamped_object_reads_as_it_did_with_one_member_more(
    data: dict[str, object], indent: int | str | None, ascii_only: bool
) -> None:
    record = json.dumps(data, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")

    stamped = records.stamp(record, MOMENT)

    assert stamped is not None
    assert json.loads(stamped) == json.loads(record) | {"eligible_since": MOMENT.isoformat()}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (b'{"a": 1}', {"record": {"a": 1}}),
        (b"active", {"record": "active"}),
        (b"1e999", {"record": "1e999"}),
        (b"NaN", {"record": "NaN"}),
        (b"\xff", {"record_base64": "/w=="}),
    ],
)
def test_a_record_is_shown_as_json_as_text_or_as_base64(record: bytes, expected: dict[str, object]) -> None:
    assert records.as_value(record) == expected
