"""The alert contract, value by value."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.alerts import DEAD_LETTERS, RULES, Rule, State, Status, judge, told

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
FIRING, STILL, CLEARED, NOTHING = Status.FIRING, Status.STILL_FIRING, Status.CLEARED, None
RULE = Rule("rule", threshold=100, clear_level=0, repeat_s=600, says="", impact="", can_wait=True, command="")


def run(rule: Rule, *values: float | None, every_s: float = 15, reaches: bool = True) -> list[Status | None]:
    """What is told at each look, `every_s` seconds apart; `reaches` says whether the channel takes it."""
    state, said = State(), []
    for number, value in enumerate(values):
        now = START + timedelta(seconds=number * every_s)
        state, tell = judge(rule, value, state, now)
        said.append(tell and tell.status)
        if tell is not None and reaches:
            state = told(state, tell, now)
    return said


def test_an_alert_fires_strictly_above_its_threshold_once_and_clears_at_its_clear_level() -> None:
    assert run(RULE, 99, 100, 101, 100, 0) == [NOTHING, NOTHING, FIRING, NOTHING, CLEARED]


def test_the_dead_letters_of_the_mission_fire_at_101() -> None:
    assert run(DEAD_LETTERS, 99, 100, 101, 100, 0) == [NOTHING, NOTHING, FIRING, NOTHING, CLEARED]


def test_a_value_that_flaps_around_the_threshold_fires_once() -> None:
    assert run(RULE, 101, 99, 101, 100, 102, 1) == [FIRING] + [NOTHING] * 5


def test_after_clearing_the_next_crossing_fires_again() -> None:
    assert run(RULE, 101, 0, 50, 101) == [FIRING, CLEARED, NOTHING, FIRING]


def test_a_clear_level_equal_to_the_threshold_clears_at_the_threshold() -> None:
    assert run(replace(RULE, clear_level=100), 101, 100, 101) == [FIRING, CLEARED, FIRING]


def test_an_alert_that_never_fires_says_nothing() -> None:
    assert run(RULE, 0, 100, 0, 100) == [NOTHING] * 4


def test_an_alert_that_goes_on_is_repeated_after_the_interval() -> None:
    assert run(RULE, *[101] * 5, every_s=300) == [FIRING, NOTHING, STILL, NOTHING, STILL]


def test_the_interval_begins_when_it_was_last_told() -> None:
    state, tell = judge(RULE, 101, State(), START)
    assert tell is not None
    state = told(state, tell, START)

    assert judge(RULE, 101, state, START + timedelta(seconds=599))[1] is None
    again = judge(RULE, 101, state, START + timedelta(seconds=600))[1]

    assert again is not None
    assert (again.status, again.since) == (STILL, START)


def test_what_could_not_be_told_is_told_again_at_the_next_look() -> None:
    assert run(RULE, 101, 101, 100, reaches=False) == [FIRING, FIRING, FIRING]


def test_an_alert_that_nobody_heard_of_clears_in_silence() -> None:
    assert run(RULE, 101, 0, 0, reaches=False) == [FIRING, NOTHING, NOTHING]


def test_a_clearing_that_could_not_be_told_is_told_again() -> None:
    firing = State(START, START)

    state, first = judge(RULE, 0, firing, START)
    state, second = judge(RULE, 0, state, START)

    assert first is not None
    assert second is not None
    assert (first.status, second.status) == (CLEARED, CLEARED)
    assert told(state, second, START) == State()


def test_an_alert_that_comes_back_before_its_clearing_was_told_goes_on() -> None:
    cleared, _ = judge(RULE, 0, State(START, START), START + timedelta(seconds=15))

    state, tell = judge(RULE, 101, cleared, START + timedelta(seconds=30))

    assert tell is None
    assert state == State(START + timedelta(seconds=30), START)


@pytest.mark.parametrize("state", [State(), State(START, START)])
def test_a_value_that_nobody_could_find_out_changes_nothing(state: State) -> None:
    assert judge(RULE, None, state, START) == (state, None)


def test_an_alert_goes_on_repeating_while_nobody_can_find_out() -> None:
    _, tell = judge(RULE, None, State(START, START), START + timedelta(seconds=600))

    assert tell is not None
    assert tell.status is STILL


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_clears_no_higher_than_it_fires_and_repeats(rule: Rule) -> None:
    assert rule.clear_level <= rule.threshold
    assert rule.repeat_s >= 3600


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_says_what_its_impact_and_what_to_run(rule: Rule) -> None:
    assert rule.says.format(value=101.4, subject="here")
    assert rule.command.format(subject="here").startswith("mailward ")
    assert rule.impact


@pytest.mark.parametrize(
    ("name", "threshold"),
    [("dead_letters", 100), ("old_dead_letter", 24), ("duplicates", 10), ("unknown_sends", 0), ("no_progress", 10)],
)
def test_thresholds_are_those_of_the_design(name: str, threshold: float) -> None:
    assert RULES[name].threshold == threshold
