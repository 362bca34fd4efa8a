"""What would happen to an event, given what the stores hold."""

from datetime import timedelta

import pytest

from core.decide import Outcome
from core.events import Kind
from ops.preview import Key, foresee
from tests.unit.ops.letter_samples import NOON, event

YOUNGER = b'{"eligible_since": "2026-11-01T13:00:00Z"}'
NOW = NOON + timedelta(days=1)


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        ([Key(b"{}")], Outcome.REMOVED),
        ([Key(YOUNGER)], Outcome.STALE),
        ([Key(None)], Outcome.ABSENT),
        ([Key(None), Key(YOUNGER)], Outcome.STALE),
        ([Key(None), Key(b"{}")], Outcome.REMOVED),
        ([Key(b"{}", "removed", applied=True)], Outcome.DUPLICATE),
        ([Key(b"{}", "removed", applied=True), Key(None)], Outcome.ABSENT),
        ([Key(None, "removed")], Outcome.REMOVED),
        ([Key(YOUNGER, "removed")], Outcome.STALE),
        ([Key(None, "stale")], Outcome.ABSENT),
    ],
)
def test_a_removing_event_comes_to_what_its_keys_say(keys: list[Key], outcome: Outcome) -> None:
    assert foresee(event(), keys, None, NOW) is outcome


def test_an_event_not_newer_than_a_restore_is_stale() -> None:
    assert foresee(event(), [Key(b"{}")], NOON, NOW) is Outcome.STALE
    assert foresee(event(), [Key(b"{}")], NOON - timedelta(seconds=1), NOW) is Outcome.REMOVED


@pytest.mark.parametrize("kind", [Kind.DELIVERED, Kind.SOFT_BOUNCE, Kind.REJECTED])
def test_other_kinds_are_ignored(kind: Kind) -> None:
    assert foresee(event(kind=kind), [Key(b"{}")], None, NOW) is Outcome.IGNORED
