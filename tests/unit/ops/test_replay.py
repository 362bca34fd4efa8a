"""How letters are put back."""

import json

import pytest

from core import parked, wire
from core.parked import ParkedReason
from core.topology import Topology
from ops.letters import Letter
from ops.replay import REPLAY_CAP, Replay
from ops.settlement import Leave, Settle, Step
from tests.unit.ops.letter_samples import WordsProvider, died, letter, parked_letter

TOPOLOGY = Topology()


def step(one: Letter, force: bool = False) -> Step:
    return Replay(TOPOLOGY, {"made-up": WordsProvider()}, force)(one)


def addresses(settled: Step) -> list[str]:
    assert isinstance(settled, Settle)
    return [wire.decode(one.body).recipient for one in settled.messages if one.routing_key == TOPOLOGY.events.name]


def test_a_copy_is_the_same_message_at_its_first_attempt_without_what_the_broker_wrote() -> None:
    headers = died("rejected") | {"replays": 1, "last_error": "WrongType", "x-delivery-count": 3, "own": "kept"}
    settled = step(letter(b'{"any": "body"}', headers), force=True)

    assert isinstance(settled, Settle)
    (copy,) = settled.messages
    assert (copy.exchange, copy.routing_key) == ("mail.events", "email-events")
    assert (copy.message_id, copy.body) == ("made-up:1", b'{"any": "body"}')
    assert copy.headers == {"attempt": 1, "replays": 2, "own": "kept"}


@pytest.mark.parametrize("replays", [REPLAY_CAP, REPLAY_CAP + 3])
def test_what_was_replayed_too_often_needs_force(replays: int) -> None:
    often = letter(headers={"replays": replays})

    assert isinstance(step(often), Leave)
    assert isinstance(step(often, force=True), Settle)
    assert isinstance(step(letter(headers={"replays": REPLAY_CAP - 1})), Settle)


def test_what_cannot_be_decoded_needs_force() -> None:
    refused = step(letter(b"not json"))

    assert isinstance(refused, Leave)
    assert refused.reason.startswith("still failing: not JSON")
    assert isinstance(step(letter(b"not json"), force=True), Settle)


def test_a_message_of_a_newer_version_is_put_back() -> None:
    assert isinstance(step(letter(b'{"v": 99}')), Settle)


def test_a_parked_body_that_is_understood_now_becomes_ordinary_events() -> None:
    settled = step(parked_letter(b"a@example.com b@example.com", ParkedReason(0, "odd"), ParkedReason(1, "odd")))

    assert isinstance(settled, Settle)
    assert addresses(settled) == ["a@example.com", "b@example.com"]
    assert [one.message_id for one in settled.messages] == ["made-up:0", "made-up:1"]
    assert all(one.headers == {"attempt": 1} for one in settled.messages)
    assert settled.stays == ()


def test_only_the_items_that_are_listed_are_published() -> None:
    assert addresses(step(parked_letter(b"a@example.com b@example.com", ParkedReason(1, "odd")))) == ["b@example.com"]


def test_a_body_that_was_parked_as_a_whole_is_published_as_a_whole() -> None:
    settled = step(parked_letter(b"a@example.com b@example.com", ParkedReason(-1, "not readable")))

    assert addresses(settled) == ["a@example.com", "b@example.com"]


def test_what_still_is_not_understood_is_parked_again_alone_under_the_same_id() -> None:
    one = parked_letter(b"a@example.com odd", ParkedReason(0, "once odd"), ParkedReason(1, "once odd"))
    settled = step(one)

    assert isinstance(settled, Settle)
    assert addresses(settled) == ["a@example.com"]
    again = settled.messages[-1]
    assert (again.routing_key, again.message_id) == ("email-events-parked", "parked:1")
    assert again.headers == {"attempt": 1, "replays": 1}
    assert parked.decode(again.body).items == (ParkedReason(1, "no such word: odd"),)
    assert parked.decode(again.body).body == b"a@example.com odd"
    assert settled.stays == ("still parked: no such word: odd",)


@pytest.mark.parametrize(
    ("body", "items"),
    [
        (b"odd", [ParkedReason(0, "odd")]),
        (b"!", [ParkedReason(-1, "odd")]),
        (b"! a@example.com", [ParkedReason(1, "odd")]),
        (b"odd a@example.com", [ParkedReason(0, "odd")]),
        (b"odd", [ParkedReason(-1, "not readable")]),
    ],
)
def test_where_nothing_is_gained_the_parked_message_is_left_alone(body: bytes, items: list[ParkedReason]) -> None:
    assert isinstance(step(parked_letter(body, *items)), Leave)


def test_an_item_that_nobody_acts_on_today_is_simply_done() -> None:
    settled = step(parked_letter(b"skip", ParkedReason(0, "odd")))

    assert isinstance(settled, Settle)
    assert settled.messages == ()


def test_a_parked_body_of_a_provider_that_is_not_configured_stays_with_that_reason() -> None:
    left = step(parked_letter(b"a@example.com", ParkedReason(0, "odd"), provider="gone"))

    assert isinstance(left, Leave)
    assert "provider gone is not configured" in left.reason


def test_a_parked_message_that_is_none_stays() -> None:
    odd = parked_letter(b"x", ParkedReason(0, "odd"))
    broken = Letter(odd.id, odd.lane, odd.queue, b"{}", {}, letter(json.dumps({}).encode()).content)

    assert isinstance(step(broken), Leave)
