"""When so many recipients are refused that their campaign must pause."""

import pytest

from sender.breaker import reason, trips


@pytest.mark.parametrize(
    ("before", "failed", "sent", "expected"),
    [
        (18, 19, 0, False),
        (19, 20, 0, True),
        (20, 21, 0, False),  # an operator has looked and resumed it
        (38, 39, 0, False),
        (39, 40, 0, True),
        (60, 79, 0, False),
        (79, 80, 0, True),
        (0, 100, 0, True),  # all of one call, by name
        (20, 20, 0, False),
        (19, 20, 19, True),
        (19, 20, 20, False),  # as many were accepted: the refusals are their recipients' own
        (19, 20, 10_000, False),
    ],
)
def test_it_pauses_at_the_twentieth_failure_and_each_doubling_while_most_are_refused(
    before: int, failed: int, sent: int, expected: bool
) -> None:
    assert trips(before, failed, sent) is expected


@pytest.mark.parametrize(
    ("members", "named", "failed", "pauses"),
    [
        (1, 0, 20, True),
        (1, 1, 20, True),
        (100, 0, 20, False),  # to be bisected: nobody has failed yet
        (100, 5, 22, False),  # a few of many, by name: their own fault
        (100, 49, 60, False),
        (100, 50, 60, True),
        (100, 100, 100, True),
        (1, 0, 19, False),
    ],
)
def test_a_few_of_many_that_are_refused_by_name_are_their_own_fault(
    members: int, named: int, failed: int, pauses: bool
) -> None:
    expected = f"mass_rejection: {failed} recipients refused, 0 accepted" if pauses else ""
    assert reason(members, named, failed, 0) == expected
