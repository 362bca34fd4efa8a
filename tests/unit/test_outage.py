"""Pauses: they grow to their limit, start over, and last at least as long as somebody asked for."""

import pytest

from consumer.outage import Pause


def lengths(pause: Pause, count: int, at_least_s: float = 0.0) -> list[float]:
    return [sum(pause.slices(at_least_s)) for _ in range(count)]


def test_pauses_double_up_to_their_limit_give_or_take_a_quarter() -> None:
    expected = [0.5, 1, 2, 4, 5, 5]

    found = lengths(Pause(last_s=5), len(expected))

    assert all(0.75 * wanted <= one <= 1.25 * wanted for one, wanted in zip(found, expected, strict=True)), found


def test_after_something_worked_they_start_small_again() -> None:
    pause = Pause()
    lengths(pause, 5)
    pause.reset()

    assert lengths(pause, 1)[0] <= 0.625


@pytest.mark.parametrize("asked_s", [7.0, 300.0])
def test_a_pause_is_never_shorter_than_what_was_asked_for(asked_s: float) -> None:
    assert all(asked_s <= one <= 1.25 * asked_s for one in lengths(Pause(last_s=1), 50, asked_s))


def test_a_stop_never_waits_longer_than_half_a_second() -> None:
    assert max(Pause().slices(30.0)) <= 0.5
