"""Recipient files: what is read from a line, what is refused and why, and that an export comes back byte for byte."""

import base64
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core import recipient_csv, recipient_files, recipient_ndjson
from core.recipient_files import BadFile, BadLine, Recipient
from tests.unit.test_records import json_values, layouts

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
SINCE = datetime(2026, 1, 31, tzinfo=UTC)


def ndjson(*lines: str | bytes) -> list[Recipient | BadLine]:
    body = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    return list(recipient_ndjson.read(io.BytesIO(body), NOW))


def csv(text: str | bytes) -> list[Recipient | BadLine]:
    body = text if isinstance(text, bytes) else text.encode()
    return list(recipient_csv.read(io.BytesIO(body), NOW))


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ('{"address":"a@example.com"}', b"{}"),
        ('{"address":"a@example.com","record":{"n": 1.10, "n": 2}}', b'{"n": 1.10, "n": 2}'),
        ('{ "record" : [1, 2] , "address" : "a@example.com" }', b"[1, 2]"),
        ('{"address":"a@example.com","record":"active"}', b"active"),
        ('{"address":"a@example.com","record":""}', b""),
        ('{"address":"a@example.com","record":1e400}', b"1e400"),
        ('{"address":"a@example.com","record":null}', b"null"),
        ('{"address":"a@example.com","record_base64":"/wA="}', b"\xff\x00"),
        ('\ufeff{"address":"a@example.com","record":{"name":"Zoë"}}', '{"name":"Zoë"}'.encode()),
    ],
)
def test_a_record_is_stored_as_it_is_written(line: str, record: bytes) -> None:
    assert ndjson(line) == [Recipient(1, "a@example.com", record)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense", "not JSON"),
        ('{"address":"a@example.com","record":NaN}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not an object with an address"),
        ('{"record":{}}', "not an object with an address"),
        ('{"address":7}', "not an object with an address"),
        ('{"address":"a@example.com","name":"A"}', "beside address there may be"),
        ('{"address":"a@example.com","record":{},"record_base64":""}', "exclude each other"),
        ('{"address":"a@example.com","record_base64":"*"}', "not base64"),
        ('{"address":"a@example.com","record_base64":7}', "not base64"),
        ('{"address":"a@example.com","record":"\\ud800"}', "half of a character"),
        ('{"address":"a@example.com","eligible_since":"soon"}', "eligible_since is not a time"),
        ('{"address":"a@example.com","eligible_since":"2027-01-01"}', "eligible_since is not a time"),
        ('{"address":"nobody"}', "no @"),
        ('{"address":"\\ud800@example.com","verbatim":true}', "half of a character"),
        ('{"address":"a@example.com, b@example.com"}', "several addresses"),
        (b'{"address":"\xff@example.com"}', "not UTF-8"),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_the_rest_is_read(line: str | bytes, reason: str) -> None:
    good = '{"address":"good@example.com"}'

    first, bad, last = ndjson(good, line, good)

    assert isinstance(bad, BadLine)
    assert (bad.line, reason in bad.reason) == (2, True)
    assert first == Recipient(1, "good@example.com", b"{}")
    assert last == Recipient(3, "good@example.com", b"{}")


def test_a_reason_holds_nothing_of_the_line() -> None:
    (bad,) = ndjson('{"address":"secret@example.com,other@example.com"}')

    assert "example.com" not in str(bad)


def test_blank_lines_are_passed_over_and_counted() -> None:
    assert [one.line for one in ndjson("", '{"address":"a@example.com"}', "  ", '{"address":"b@example.com"}')] == [
        2,
        4,
    ]


def test_a_line_without_end_costs_bounded_memory_and_is_one_bad_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_files, "LINE_LIMIT", 100)
    long = f'{{"address":"a@example.com","record":"{"x" * 1000}"}}'

    bad, good = ndjson(long, '{"address":"b@example.com"}')

    assert bad == BadLine(1, "longer than 0 MiB")
    assert good == Recipient(2, "b@example.com", b"{}")


def test_addresses_are_normalised_unless_the_line_says_verbatim() -> None:
    address = "Ann <Ann@EXAMPLE.com>"

    (normal,) = ndjson(json.dumps({"address": address}))
    (verbatim,) = ndjson(json.dumps({"address": "Ann@EXAMPLE.com", "verbatim": True}))

    assert normal == Recipient(1, "ann@example.com", b"{}")
    assert verbatim == Recipient(1, "Ann@EXAMPLE.com", b"{}")


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ('{"a": 1}', Recipient(1, "a@example.com", b'{"a": 1,"eligible_since":"2026-01-31T00:00:00+00:00"}')),
        ('"active"', Recipient(1, "a@example.com", b"active", SINCE)),
    ],
)
def test_consent_beside_the_record_goes_into_a_json_object_and_stays_beside_anything_else(
    record: str, expected: Recipient
) -> None:
    assert ndjson(f'{{"address":"a@example.com","record":{record},"eligible_since":"2026-01-31"}}') == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("address\na@example.com\n", Recipient(2, "a@example.com", b"{}")),
        ('address,record\na@example.com,"{""n"": 1}"\n', Recipient(2, "a@example.com", b'{"n": 1}')),
        ("record,address\n,a@example.com\n", Recipient(2, "a@example.com", b"{}")),
        ("address,name,plan\na@example.com,Zoë,\n", Recipient(2, "a@example.com", '{"name":"Zoë","plan":""}'.encode())),
        ("\ufeffaddress\r\na@example.com\r\n", Recipient(2, "a@example.com", b"{}")),
        ('address,name\na@example.com,"two\nlines"\n', Recipient(3, "a@example.com", b'{"name":"two\\nlines"}')),
        (
            "address,name,eligible_since\na@example.com,A,2026-01-31\n",
            Recipient(2, "a@example.com", b'{"name":"A","eligible_since":"2026-01-31T00:00:00+00:00"}'),
        ),
        (
            "address,record,eligible_since\na@example.com,active,2026-01-31\n",
            Recipient(2, "a@example.com", b"active", SINCE),
        ),
        ("address,name,eligible_since\na@example.com,A,\n", Recipient(2, "a@example.com", b'{"name":"A"}')),
    ],
)
def test_a_csv_row_is_a_recipient(text: str, expected: Recipient) -> None:
    assert csv(text) == [expected]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"a@example.com", "1 columns, the header has 2"),
        (b"a@example.com,b,c", "3 columns, the header has 2"),
        (b"nobody,b", "no @"),
        (b"\xff@example.com,b", "not UTF-8"),
        (b'a@example.com,"b"c', "expected after"),
    ],
)
def test_a_bad_csv_row_is_reported_with_its_line_and_the_rest_is_read(row: bytes, reason: str) -> None:
    found = csv(b"address,name\n" + row + b"\ngood@example.com,G\n")

    bad = [one for one in found if isinstance(one, BadLine)]
    assert [(one.line, reason in one.reason) for one in bad] == [(2, True)]
    assert Recipient(3, "good@example.com", b'{"name":"G"}') in found


@pytest.mark.parametrize(
    "header", ["", "email,name", "address,address", "address,x,x", "address,record,name", 'address,"x']
)
def test_a_csv_with_a_wrong_header_is_refused_as_a_whole(header: str) -> None:
    with pytest.raises(BadFile):
        csv(f"{header}\n")


spellings = st.sampled_from(["a@example.com", "A@Example.com", "no address", "", 'q"\\@example.com', "zoë@exämple.org"])
texts = st.builds(lambda value, indent: json.dumps(value, indent=indent).encode(), json_values, layouts)


@given(spellings, st.binary() | st.text().map(lambda text: text.encode("utf-8", "replace")) | texts)
@example("a@example.com", b'{"n": 1.10, "n": 1e400}')
@example("a@example.com", b'{"a":1}\n')
@example("a@example.com", b'"quoted"')
@example("a@example.com", b"NaN")
@example("a@example.com", b"[" * 100_000)
@example("a@example.com", "\u2028\u0085".encode())
def test_an_exported_recipient_is_imported_again_byte_for_byte(address: str, record: bytes) -> None:
    line = recipient_ndjson.export_line(address, record)

    assert ndjson(line) == [Recipient(1, address, record)]


def test_an_export_is_readable_where_the_record_is_text() -> None:
    assert recipient_ndjson.export_line("a@example.com", b'{"n": 1}') == '{"address":"a@example.com","record":{"n": 1}}'
    assert recipient_ndjson.export_line("a@example.com", b"active") == '{"address":"a@example.com","record":"active"}'
    binary = recipient_ndjson.export_line("a@example.com", b"\xff")
    assert json.loads(binary) == {"address": "a@example.com", "record_base64": base64.b64encode(b"\xff").decode()}
