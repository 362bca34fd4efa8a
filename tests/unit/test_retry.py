"""What a failure costs: the full product of kinds, attempts and delays, and when refusals become an outage."""

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError

from consumer.retry import DeadLetter, Refusals, Retry, after_failure
from core.errors import Outage, Permanent, Transient, Undecodable

DELAYS = [(10, 60), (1, 2), (5,), (1, 10, 100)]
ATTEMPTS = range(6)


@pytest.mark.parametrize("delays_s", DELAYS, ids=str)
@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("kind", [Permanent, Undecodable])
def test_a_permanent_failure_is_a_dead_letter_at_once(
    kind: type[Permanent], attempt: int, delays_s: tuple[int, ...]
) -> None:
    assert after_failure(kind, attempt, delays_s) == DeadLetter()


@pytest.mark.parametrize("delays_s", DELAYS, ids=str)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_transient_failure_is_retried_while_there_are_delays_and_then_a_dead_letter(
    attempt: int, delays_s: tuple[int, ...]
) -> None:
    number = max(attempt, 1)  # a header that says 0 is nonsense and counts as the first attempt
    expected = DeadLetter() if number > len(delays_s) else delays_s[number - 1]

    step = after_failure(Transient, attempt, delays_s)

    assert (step.delay_s if isinstance(step, Retry) else step) == expected


@pytest.mark.parametrize(
    ("attempt", "step"), [(1, Retry(2, 10)), (2, Retry(3, 60)), (3, DeadLetter()), (4, DeadLetter()), (0, Retry(1, 10))]
)
def test_there_are_three_attempts_in_all(attempt: int, step: Retry | DeadLetter) -> None:
    assert after_failure(Transient, attempt, (10, 60)) == step


@pytest.mark.parametrize("kind", [Transient, Outage])
def test_following_the_steps_ends_after_one_attempt_more_than_there_are_delays(
    kind: type[Transient] | type[Outage],
) -> None:
    attempt, made = 1, 1
    while isinstance(step := after_failure(kind, attempt, (10, 60)), Retry):
        attempt, made = step.attempt, made + 1

    assert made == 3


def refused(refusals: Refusals, times: int, text: str = "READONLY") -> list[bool]:
    return [refusals.add(Transient(text)) for _ in range(times)]


def test_the_fiftieth_identical_refusal_in_a_row_is_an_outage_and_so_are_those_behind_it() -> None:
    assert refused(Refusals(), 51) == [False] * 49 + [True, True]


def test_a_refusal_of_another_text_starts_the_count_anew() -> None:
    refusals = Refusals()
    refused(refusals, 49)

    assert refused(refusals, 1, "NOPERM") == [False]
    assert refused(refusals, 49) == [False] * 49


def test_a_refusal_of_another_type_with_the_same_text_starts_the_count_anew() -> None:
    refusals = Refusals()
    for _ in range(49):
        refusals.add(ValueError("no"))

    assert refusals.add(KeyError("no")) is False


def test_one_success_starts_the_count_anew() -> None:
    refusals = Refusals()
    refused(refusals, 49)
    refusals.success()

    assert refused(refusals, 50) == [False] * 49 + [True]


def test_refusals_of_sql_are_identical_whatever_values_were_refused() -> None:
    refusals = Refusals()
    errors = [
        DBAPIError.instance("INSERT", {"event_id": number}, psycopg.errors.ReadOnlySqlTransaction("no"), psycopg.Error)
        for number in range(50)
    ]

    assert [refusals.add(error) for error in errors] == [False] * 49 + [True]
