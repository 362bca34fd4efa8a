"""The plan of the chaos: the same for the same seed, and nobody is spared."""

import pytest

from bench import chaos_plan

SEED = 7


def test_the_same_seed_brings_the_same_chaos_and_another_seed_another() -> None:
    assert chaos_plan.plan(SEED, 60, 5) == chaos_plan.plan(SEED, 60, 5)
    assert chaos_plan.plan(SEED, 60, 5) != chaos_plan.plan(SEED + 1, 60, 5)


@pytest.mark.parametrize("target", [*chaos_plan.PROCESSES, *chaos_plan.SERVICES])
def test_every_process_is_killed_and_every_service_restarted_even_in_the_shortest_run(target: str) -> None:
    assert any(step.target == target for step in chaos_plan.plan(SEED, 8, 2))
