"""Forms in percent-encoding: read as urllib reads them, faster, and refused where they are none."""

import time
from collections.abc import Callable
from urllib.parse import unquote_to_bytes, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import url_form

MOST = 5
ODD_PIECES = [b"%41", b"%0a", b"%0D%0A", b"%3D", b"=", b"%26", b"%25", b"%2B", b"+", b"\n", b"\r\n", b"_", b"\xff"]


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        (b"a=1", [(b"a", b"1")]),
        (b"b=2&a=1&b=", [(b"b", b"2"), (b"a", b"1"), (b"b", b"")]),
        (b"a=b=c==", [(b"a", b"b=c==")]),
        (b"a+b=c+d%2Be", [(b"a b", b"c d+e")]),
        (b"%61%3d=%26%3D%C3%BC", [(b"a=", b"&=\xc3\xbc")]),
        (b"a=%2541", [(b"a", b"%41")]),
        (b"a=%FF\xfe%00", [(b"a", b"\xff\xfe\x00")]),
        (b"a=_%0D%0A \r\n\t", [(b"a", b"_\r\n \r\n\t")]),
        (b"=", [(b"", b"")]),
    ],
)
def test_names_and_values_are_decoded_once_byte_for_byte(body: bytes, pairs: list[tuple[bytes, bytes]]) -> None:
    assert url_form.pairs(body, MOST) == pairs


@pytest.mark.parametrize(
    "body", [b"", b"a", b"a=1&", b"&a=1", b"a=1&&b=2", b"a=%", b"a=%4", b"a=%zz", b"a%=1", b"a=%%41", b"a=%\n"]
)
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"no form|percent"):
        url_form.pairs(body, MOST)


def test_a_form_may_have_as_many_fields_as_allowed_and_no_more() -> None:
    assert len(url_form.pairs(b"&".join([b"a=1"] * MOST), MOST)) == MOST
    with pytest.raises(ValueError, match="too many"):
        url_form.pairs(b"&".join([b"a=1"] * (MOST + 1)), MOST)


@given(st.lists(st.tuples(st.binary(), st.binary()), min_size=1, max_size=MOST))
def test_what_urllib_encodes_comes_back(fields: list[tuple[bytes, bytes]]) -> None:
    assert url_form.pairs(urlencode(fields).encode(), MOST) == fields


@given(st.lists(st.sampled_from(ODD_PIECES)).map(b"".join))
def test_odd_values_are_read_as_urllib_reads_them(value: bytes) -> None:
    assert url_form.pairs(b"a=" + value, MOST) == [(b"a", unquote_to_bytes(value.replace(b"+", b" ")))]


def test_a_hostile_form_costs_a_fraction_of_what_urllib_would_spend_on_it() -> None:
    body = b"a=" + b"%41b" * 200_000

    assert cpu_s(lambda: url_form.pairs(body, MOST)) < cpu_s(lambda: unquote_to_bytes(body)) / 3


def cpu_s(call: Callable[[], object]) -> float:
    """The least CPU time of three calls."""
    taken = []
    for _ in range(3):
        started = time.thread_time()
        call()
        taken.append(time.thread_time() - started)
    return min(taken)
