"""What processes say: no addresses, one valid JSON line whatever is logged, and no counter that nobody declared."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any, NoReturn
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.telemetry import Counters, JsonFormatter, Series, redact

FORMATTER = JsonFormatter("test")

ADDRESSES = [
    "jane@example.com",
    "Jane.Doe+news@mail.example.com",
    "jané@bücher.example",
    "jane@localhost",
    "o'neill@example.com",
    "bounce+jane=example.org@mail.example.com",
    '"jane"@example.com',
    '"jane doe"@example.com',
]

SENTENCES = [
    "no record for {}",
    "no record for {}.",
    "<{}>",
    "Jane <{}>",
    "key recipient:{} is a hash",
    '{{"recipient": "{}"}}',
    "{{'recipient': '{}'}}",
    "[{}, {}]",
    "mailto:{}?subject=x",
    "{}\n{}",
    "parameters: ('resend:msg_1', '{}')",
]


def line(message: object, *args: object, extra: Mapping[str, object] | None = None, **members: Any) -> str:
    record = logging.getLogger("test").makeRecord("test", logging.INFO, "", 0, message, args, None, extra=extra)
    vars(record).update(members)
    return FORMATTER.format(record)


def parsed(text: str) -> dict[str, Any]:
    """`text` as strict JSON on one line."""
    assert len(text.splitlines()) == 1

    def refuse(constant: str) -> NoReturn:
        raise AssertionError(f"{constant} is not JSON")

    value: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return value


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_part_of_an_address_survives(address: str, sentence: str) -> None:
    shown = redact(sentence.format(address, address))

    assert "@" not in shown
    assert not any(word in shown.lower() for word in ("jane@", '"jane', "jane=", "o'", "neill", "doe", "mail."))
    assert "<address>" in shown


@pytest.mark.parametrize("text", ["", "no address", "resend:msg_1", "a @ b", "@", "450 4.2.1 try later"])
def test_a_text_without_an_address_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_what_surrounds_an_address_stays_readable() -> None:
    assert redact("key recipient:jane@example.com is a hash") == "key recipient:<address> is a hash"


@pytest.mark.parametrize(
    "text", ["@" + "a" * 20_000, "a" * 20_000 + "@", "@" * 20_000, "a@" * 10_000, '"a' * 10_000 + "@"]
)
def test_no_text_makes_redaction_slow(text: str) -> None:
    started = time.perf_counter()
    redact(text)

    assert time.perf_counter() - started < 0.5


def test_addresses_go_from_messages_extras_names_and_nested_values() -> None:
    found = parsed(
        line(
            "no record for %s",
            "jane@example.com",
            extra={
                "recipient": "jane@example.com",
                "nested": {"to": ["jane@example.com", {"jane@example.com": ("jane@example.com", 1)}]},
                "view": MappingProxyType({"to": "jane@example.com"}),
                "a_set": {"jane@example.com"},
                "raw": b"jane@example.com",
                "error": ValueError("jane@example.com"),
            },
        )
    )

    assert "jane" not in json.dumps(found)
    assert found["nested"] == {"to": ["<address>", {"<address>": ["<address>", 1]}]}


def test_addresses_go_from_stacks() -> None:
    try:
        raise ValueError("no record for jane@example.com")
    except ValueError:
        found = parsed(line("failed", exc_info=sys.exc_info()))

    assert "ValueError: no record for <address>" in found["stack"]
    assert "jane" not in json.dumps(found)


def test_a_line_says_when_where_and_what() -> None:
    found = parsed(line("applied", extra={"messages": 3, "ms": 1.5, "removed": None, "late": True}))

    assert datetime.fromisoformat(found.pop("time")).tzinfo == UTC
    assert found == {
        "level": "info", "process": "test", "event": "applied", "messages": 3, "ms": 1.5, "removed": None, "late": True,
    }  # fmt: skip


ODD = [
    float("nan"),
    float("inf"),
    float("-inf"),
    {"nested": [float("nan")]},
    "two\nlines\u2028and \x00 more\x1b[31m",
    "half \ud800",
    b"\xff\x00",
    {1: 2, None: 3, (1, 2): 4},
    {"a", "b"},
    10**30,
    Decimal("1.5"),
    datetime(2026, 11, 1, tzinfo=UTC),
    UUID(int=1),
    Path("/"),
    Series.OUTCOME,
    object(),
    ValueError("text"),
    Exception,
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_a_line_is_valid_json_for_odd_values(value: object) -> None:
    assert "odd" in parsed(line("event", extra={"odd": value}))


any_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(alphabet=st.characters()), st.binary()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


@given(st.text(alphabet=st.characters()), any_values)
def test_a_line_is_valid_json_for_any_text_and_value(text: str, value: object) -> None:
    assert parsed(line("%s", text, extra={"odd": value}))["process"] == "test"


def test_a_counter_that_nobody_declared_raises_and_counts_nothing() -> None:
    counters = Counters()

    with pytest.raises(ValueError, match="acepted"):
        counters.add("acepted", "resend")
    assert counters.drain() == {}


def test_counts_add_up_by_series_provider_and_label() -> None:
    counters = Counters()
    counters.add(Series.ACCEPTED, "resend", "complaint")
    counters.add("accepted", "resend", "complaint", 2)
    counters.add(Series.ACCEPTED, "resend", "delivered")
    counters.add(Series.ACCEPTED, "cloudflare", "complaint")
    counters.add(Series.BUSY, "resend")

    assert counters.drain() == {
        ("accepted", "resend", "complaint"): 3,
        ("accepted", "resend", "delivered"): 1,
        ("accepted", "cloudflare", "complaint"): 1,
        ("busy", "resend", ""): 1,
    }


def test_draining_takes_the_counts_away() -> None:
    counters = Counters()
    counters.add(Series.PARKED, "resend")
    drained = counters.drain()
    counters.add(Series.PARKED, "resend", n=5)

    assert drained == {("parked", "resend", ""): 1}
    assert counters.drain() == {("parked", "resend", ""): 5}
    assert counters.drain() == {}


def test_no_count_is_lost_between_threads_that_add_and_one_that_drains() -> None:
    counters = Counters()

    def add() -> None:
        for _ in range(2000):
            counters.add(Series.BUSY, "resend")

    adding = [Thread(target=add) for _ in range(4)]
    for thread in adding:
        thread.start()
    total = 0
    while any(thread.is_alive() for thread in adding):
        total += sum(counters.drain().values())
    total += sum(counters.drain().values())

    assert total == 8000
