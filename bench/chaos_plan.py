"""What befalls the deployment, in which order and at which pace: drawn from a seed, so that a run can be repeated."""

import random
from dataclasses import dataclass
from typing import Literal

PROCESSES = ("sends.1", "sends.2", "clock", "web", "events")
WEIGHTS = (4, 4, 2, 2, 2)
SERVICES = ("rabbitmq", "redis")
SHARE_OF_STORMS = 0.2  # for each kill
STORM_CALLS = (5, 30)  # how many calls in a row are answered 429
PAUSE_S = (0.3, 1.6)

Action = Literal["kill", "restart", "storm"]


@dataclass(frozen=True, slots=True)
class Step:
    """After `pause_s` seconds: kill or restart `target`, or answer the next `calls` calls with 429."""

    action: Action
    target: str
    pause_s: float
    calls: int = 0


def plan(seed: int, kills: int, restarts: int) -> list[Step]:
    """The steps in order; every process is killed at least once if there are enough kills, services take turns."""
    dice = random.Random(seed)
    victims = [*PROCESSES, *dice.choices(PROCESSES, WEIGHTS, k=max(kills - len(PROCESSES), 0))][:kills]
    steps = [Step("kill", victim, _pause(dice)) for victim in victims]
    steps += [Step("restart", SERVICES[n % len(SERVICES)], _pause(dice)) for n in range(restarts)]
    for _ in range(round(kills * SHARE_OF_STORMS)):
        steps.append(Step("storm", "sandbox", _pause(dice), dice.randint(*STORM_CALLS)))
    dice.shuffle(steps)
    return steps


def _pause(dice: random.Random) -> float:
    return round(dice.uniform(*PAUSE_S), 2)
