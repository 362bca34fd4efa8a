"""Letters as people and machines read them."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from core.parked import ParkedReason
from ops import letter_text
from ops.groups import grouped
from ops.letters import Letter
from tests.unit.ops.letter_samples import NOON, died, event, letter, parked_letter

NOW = NOON + timedelta(hours=3)
TRICK = "\x1b[2J\u202e\x07"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (86_400 * 3, "3 d"), (-5, "0 s")]
)
def test_ages_are_told_in_their_largest_unit(seconds: int, shown: str) -> None:
    assert letter_text.age(NOW - timedelta(seconds=seconds), NOW) == shown


def test_an_export_holds_a_json_body_as_text_and_any_other_as_base64() -> None:
    spaced = json.loads(letter_text.exported(letter(b'{"a":  1}')))
    odd = json.loads(letter_text.exported(letter(b"\xff\xfe")))

    assert spaced["body"] == '{"a":  1}'
    assert "body" not in odd
    assert base64.b64decode(odd["body_base64"]) == b"\xff\xfe"


def test_an_export_holds_headers_of_every_amqp_type() -> None:
    headers = {"time": datetime(2026, 11, 1, tzinfo=UTC), "bytes": b"\xff", "list": [1, None, {"a": True}], "x": 0.5}

    line = json.loads(letter_text.exported(letter(headers=headers)))

    assert line["headers"] == {
        "time": "2026-11-01T00:00:00+00:00",
        "bytes": "/w==",
        "list": [1, None, {"a": True}],
        "x": 0.5,
    }


def test_the_list_shows_counts_ages_and_no_address() -> None:
    failed = letter(headers=died("rejected") | {"last_error": "WrongType: of reader1@example.com"})

    shown = "\n".join(letter_text.table(grouped([failed, parked_letter(b"x", ParkedReason(0, "odd"))]), NOW))

    assert "failed: 1 letter\n" in shown
    assert "parked: 1 letter\n" in shown
    assert "3 h" in shown
    assert "WrongType: of <address>" in shown
    assert "reader1@" not in shown


def test_a_letter_is_shown_with_its_event_its_headers_and_its_body() -> None:
    shown = "\n".join(letter_text.shown(letter(headers=died("rejected")), [], NOW))

    assert f"complaint of {event().recipient}" in shown
    assert '"x-death"' in shown
    assert '"rule": "made_up.rule"' in shown


@pytest.mark.parametrize(
    "hostile",
    [
        letter(TRICK.encode(), {"last_error": TRICK, TRICK: TRICK}, TRICK),
        letter(json.dumps({"a": TRICK}, ensure_ascii=False).encode()),
        parked_letter(TRICK.encode(), ParkedReason(0, TRICK), provider=TRICK),
    ],
)
def test_nothing_in_a_letter_can_play_tricks_on_a_terminal(hostile: Letter) -> None:
    lines = [*letter_text.shown(hostile, [], NOW), *letter_text.table(grouped([hostile]), NOW)]

    assert all(line.isprintable() for line in lines)
