"""The pure parts of applying a batch: which events share a round, and the one outcome of each."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.apply_events import _outcomes, _rounds
from core.decide import Outcome
from core.events import Event
from core.journal import Entry
from tests.system import event

# Few addresses and many events, so that they meet.
batches = st.lists(st.integers(0, 4), max_size=30).map(
    lambda numbers: [event(index, recipient=f"reader{one}@example.com") for index, one in enumerate(numbers)]
)


def entry(of: Event, outcome: Outcome, key: str = "key") -> Entry:
    return Entry(of, key, outcome, b"{}" if outcome is Outcome.REMOVED else None)


def test_no_events_are_one_empty_round() -> None:
    assert _rounds([]) == [[]]


def test_events_of_different_addresses_share_a_round() -> None:
    assert _rounds([event(1), event(2)]) == [[event(1), event(2)]]


@given(batches)
def test_a_round_holds_each_address_once(batch: list[Event]) -> None:
    for one_round in _rounds(batch):
        assert max(Counter(event.recipient for event in one_round).values(), default=1) == 1


@given(batches)
def test_every_event_is_in_exactly_one_round(batch: list[Event]) -> None:
    rounds = [event.event_id for one_round in _rounds(batch) for event in one_round]

    assert sorted(rounds) == sorted(event.event_id for event in batch)


@given(batches)
def test_the_events_of_one_address_keep_their_order(batch: list[Event]) -> None:
    in_rounds = [one for one_round in _rounds(batch) for one in one_round]

    for address in {one.recipient for one in batch}:
        assert [one for one in in_rounds if one.recipient == address] == [
            one for one in batch if one.recipient == address
        ]


@given(batches)
def test_there_are_as_many_rounds_as_the_busiest_address_has_events(batch: list[Event]) -> None:
    busiest = max(Counter(one.recipient for one in batch).values(), default=1)

    assert len(_rounds(batch)) == busiest


@given(batches)
def test_a_round_is_in_the_order_of_event_ids_so_that_two_consumers_lock_alike(batch: list[Event]) -> None:
    for one_round in _rounds(batch):
        assert [one.event_id for one in one_round] == sorted(one.event_id for one in one_round)


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        ([], Outcome.DUPLICATE),
        ([Outcome.REMOVED], Outcome.REMOVED),
        ([Outcome.ABSENT], Outcome.ABSENT),
        ([Outcome.STALE], Outcome.STALE),
        ([Outcome.REMOVED, Outcome.STALE], Outcome.REMOVED),
        ([Outcome.REMOVED, Outcome.ABSENT], Outcome.REMOVED),
        ([Outcome.STALE, Outcome.ABSENT], Outcome.STALE),
        ([Outcome.REMOVED, Outcome.REMOVED], Outcome.REMOVED),
    ],
)
def test_the_outcome_of_an_event_is_the_strongest_of_its_keys(keys: list[Outcome], outcome: Outcome) -> None:
    for order in (keys, keys[::-1]):
        applied = [entry(event(1), one, key=str(index)) for index, one in enumerate(order)]
        assert list(_outcomes([event(1)], applied)) == [(event(1), outcome)]


def test_each_event_has_the_outcome_of_its_own_keys() -> None:
    applied = [entry(event(2), Outcome.REMOVED), entry(event(1), Outcome.ABSENT)]

    assert list(_outcomes([event(1), event(2), event(3)], applied)) == [
        (event(1), Outcome.ABSENT),
        (event(2), Outcome.REMOVED),
        (event(3), Outcome.DUPLICATE),
    ]
