"""An audience: what a line stands for, what is refused and why, and that a stream is never held as a whole."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.addresses import short_digest
from sender.audience import BadFile, BadLine, Row, Slice, read_csv, read_ndjson

JANE = "jane@example.com"
JANES_ID = short_digest(JANE)


class Trickle:
    """A stream that gives a few bytes at a time, and counts them."""

    def __init__(self, body: bytes, step: int) -> None:
        self.rest, self.step, self.given = body, step, 0

    def read(self, size: int = -1, /) -> bytes:
        piece, self.rest = self.rest[: self.step], self.rest[self.step :]
        self.given += len(piece)
        return piece


def ndjson(*lines: str | bytes, keep_local_case: bool = False) -> list[Row | BadLine]:
    body = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    return flat(list(read_ndjson(io.BytesIO(body), keep_local_case=keep_local_case)))


def from_csv(text: str | bytes) -> list[Row | BadLine]:
    return flat(list(read_csv(io.BytesIO(text if isinstance(text, bytes) else text.encode()))))


def flat(read: list[Slice]) -> list[Row | BadLine]:
    return [one for slice in read for one in (*slice.rows, *slice.bad)]


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ('{"address":"jane@example.com"}', Row(JANES_ID, JANE, "", "{}")),
        ('{"email":"jane@example.com"}', Row(JANES_ID, JANE, "", "{}")),
        ('{"email":"jane@example.com","id":"r-1"}', Row("r-1", JANE, "", "{}")),
        ('{"email":"jane@example.com","id":17}', Row("17", JANE, "", "{}")),
        ('{"email":"jane@example.com","id":" r 1 "}', Row("r 1", JANE, "", "{}")),
        ('{"email":"jane@example.com","id":null}', Row(JANES_ID, JANE, "", "{}")),
        ('{"email":"jane@example.com","id":""}', Row(JANES_ID, JANE, "", "{}")),
        ('{"id":2,"recipient_id":"r-1","email":"jane@example.com"}', Row("r-1", JANE, "", '{"id":2}')),
        ('{"email":"Jane <Jane@Example.com>"}', Row(JANES_ID, JANE, "Jane@Example.com", "{}")),
        (' { "b" : [1, null] , "email" : "jane@example.com", "a": "Zo\\u00eb" } \r',
         Row(JANES_ID, JANE, "", '{"b":[1,null],"a":"Zoë"}')),
        ('\ufeff{"email":"jane@example.com"}', Row(JANES_ID, JANE, "", "{}")),
    ],
)  # fmt: skip
def test_a_line_of_ndjson_is_a_recipient(line: str, row: Row) -> None:
    assert ndjson(line) == [row]


def test_the_local_part_keeps_its_case_where_that_is_the_policy() -> None:
    assert ndjson('{"email":"Jane@Example.com"}', keep_local_case=True) == [
        Row(short_digest("Jane@example.com"), "Jane@example.com", "Jane@Example.com", "{}")
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense", "not JSON"),
        ('{"email":"jane@example.com"} x', "not JSON"),
        ('{"email":"jane@example.com","a":NaN}', "not JSON"),
        ('{"email":"jane@example.com","a":' + "9" * 5000 + "}", "not JSON"),
        ("[" * 60_000, "not JSON"),
        ('["jane@example.com"]', "not an object"),
        ('{"email":"jane@example.com","a":' + "[" * 60 + "]" * 60 + "}", "nested too deeply"),
        ('{"email":"jane@example.com","a":1e999}', "a number out of range"),
        ('{"email":"jane@example.com","a":"\\ud800"}', "half of a character (a lone surrogate)"),
        ('{"name":"Jane"}', "must have either address or email"),
        ('{"email":"jane@example.com","address":"Main Street 1"}', "must have either address or email"),
        ('{"email":"jane"}', "not an address: no @"),
        ('{"email":null}', "not an address: not a text"),
        ('{"email":"a@example.com, b@example.com"}', "not an address: several addresses"),
        ('{"email":"jane@example.com","id":"a\\nb"}', "recipient_id must be 1 to 200 printable characters"),
        ('{"email":"jane@example.com","id":" "}', "recipient_id must be 1 to 200 printable characters"),
        ('{"email":"jane@example.com","id":"\\ud800"}', "recipient_id must be 1 to 200 printable characters"),
        ('{"email":"jane@example.com","id":"' + "x" * 201 + '"}', "recipient_id must be 1 to 200 printable characters"),
        ('{"email":"jane@example.com","id":true}', "recipient_id must be 1 to 200 printable characters"),
        ('{"email":"jane@example.com","id":1.5}', "recipient_id must be 1 to 200 printable characters"),
        (b'{"email":"jane@example.com","a":"\xff"}', "not UTF-8"),
        ('{"email":"jane@example.com","a":"' + "x" * 65_536 + '"}', "longer than 64 KiB"),
    ],
)
def test_a_line_that_is_no_recipient_is_refused_with_its_number_and_stops_nothing(
    line: str | bytes, reason: str
) -> None:
    good = '{"email":"john@example.org"}'

    found = ndjson(good, line, good)

    john = Row(short_digest("john@example.org"), "john@example.org", "", "{}")
    assert found == [john, john, BadLine(2, reason)]


def test_many_small_objects_in_a_line_are_not_deep() -> None:
    line = json.dumps({"email": JANE, "items": [{"n": n} for n in range(1000)]})

    [row] = ndjson(line)

    assert isinstance(row, Row)
    assert len(json.loads(row.variables)["items"]) == 1000


def test_blank_lines_are_passed_over_and_counted() -> None:
    assert ndjson("", "  \r", "x", "") == [BadLine(3, "not JSON")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("email\njane@example.com\n", [Row(JANES_ID, JANE, "", "{}")]),
        ("\ufeffID, Email ,First\r\n7,Jane@Example.com,\"Jane, \"\"J\"\"\nDoe\"\r\n",
         [Row("7", JANE, "Jane@Example.com", '{"First":"Jane, \\"J\\"\\nDoe"}')]),
        ("recipient_id,address\n,jane@example.com\n\nr-2,john@example.org",
         [Row(JANES_ID, JANE, "", "{}"), Row("r-2", "john@example.org", "", "{}")]),
        ("email,a\njane@example.com,\n", [Row(JANES_ID, JANE, "", '{"a":""}')]),
        ("", None), ("name\nJane\n", None), ("email,address\n", None), ("email,a,a\n", None), ('"email\n', None),
    ],
)  # fmt: skip
def test_a_csv_needs_a_header_and_gives_its_rows(text: str, rows: list[Row] | None) -> None:
    if rows is not None:
        assert from_csv(text) == rows
    else:
        with pytest.raises(BadFile):
            from_csv(text)


@pytest.mark.parametrize(
    ("lines", "bad"),
    [
        (b"jane,x", BadLine(2, "not an address: no @")),
        (b"jane@example.com", BadLine(2, "1 columns, the header has 2")),
        (b"jane@example.com,x,y", BadLine(2, "3 columns, the header has 2")),
        (b"jane@example.com,\xff", BadLine(2, "not UTF-8")),
        (b'jane@example.com,"x\n\xff\ny"', BadLine(3, "not UTF-8")),
        (b"jane@example.com," + b"x" * 65_536, BadLine(2, "longer than 64 KiB")),
        (b'jane@example.com,"x"y', BadLine(2, "',' expected after '\"'")),
    ],
)
def test_a_bad_row_of_a_csv_is_refused_with_its_line_and_stops_nothing(lines: bytes, bad: BadLine) -> None:
    john = Row(short_digest("john@example.org"), "john@example.org", "", '{"a":"z"}')

    assert from_csv(b"email,a\n" + lines + b"\njohn@example.org,z\n") == [john, bad]


def test_slices_hold_at_most_as_many_lines_as_asked_for() -> None:
    body = b"".join(b'{"email":"r%d@example.com"}\n' % n if n % 3 else b"x\n" for n in range(10))

    sizes = [(len(one.rows), len(one.bad)) for one in read_ndjson(io.BytesIO(body), size=4)]

    assert sizes == [(2, 2), (3, 1), (1, 1)]


def test_a_slice_is_given_before_more_is_read_than_it_needs() -> None:
    source = Trickle(b'{"email":"jane@example.com"}\n' * 100_000, step=1000)

    next(read_ndjson(source, size=50))

    assert source.given <= 3000


def test_an_endless_line_is_not_kept() -> None:
    source = Trickle(b"x" * 3_000_000 + b'\n{"email":"jane@example.com"}', step=200_000)

    assert flat(list(read_ndjson(source))) == [Row(JANES_ID, JANE, "", "{}"), BadLine(1, "longer than 64 KiB")]


def test_an_endless_last_line_is_reported() -> None:
    assert flat(list(read_ndjson(Trickle(b"x" * 500_000, step=70_000)))) == [BadLine(1, "longer than 64 KiB")]


@given(st.lists(st.sampled_from([b'{"email":"a@example.com"}', b"", b"x", b"\xff", "ü".encode()])), st.integers(1, 40))
def test_the_pieces_in_which_a_stream_arrives_change_nothing(lines: list[bytes], step: int) -> None:
    body = b"\n".join(lines)

    assert list(read_ndjson(Trickle(body, step))) == list(read_ndjson(io.BytesIO(body)))


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.none() | st.booleans() | st.integers() | st.text()))
def test_merge_fields_come_back_as_they_were_written(fields: dict[str, object]) -> None:
    fields = {name: value for name, value in fields.items() if name not in ("address", "email", "id", "recipient_id")}
    line = json.dumps({**fields, "email": JANE})

    [found] = ndjson(line)

    assert isinstance(found, Row)
    assert json.loads(found.variables) == fields


@given(st.binary(max_size=200))
def test_whatever_the_bytes_every_line_is_a_row_or_refused(body: bytes) -> None:
    for one in flat(list(read_ndjson(io.BytesIO(body)))):
        assert isinstance(one, Row | BadLine)
