"""What can be set while the sandbox runs, faults on demand among it."""

import math
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any


class Fault(StrEnum):
    """Misbehaviour on demand. Those named *_accepted come after the call was accepted and its key remembered."""

    UNAUTHORIZED = "unauthorized"  # 401 whatever the key
    STORM = "storm"  # 429 whatever the rate
    SENDER = "sender"  # 422 that names the sender
    ERROR = "error"  # 500, and nothing was accepted
    ERROR_ACCEPTED = "error_accepted"  # 500
    DROP_ACCEPTED = "drop_accepted"  # the connection is closed without an answer
    CUT_ACCEPTED = "cut_accepted"  # the answer breaks off in its middle
    SLOW_ACCEPTED = "slow_accepted"  # the answer comes after `slow_s` seconds


@dataclass(frozen=True, slots=True)
class Dose:
    """How often a fault strikes: the next `count` calls, then others with this probability."""

    probability: float = 0.0
    count: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that `/sandbox/settings` shows and changes. Durations in seconds unless their name says otherwise."""

    rate_per_s: float = 0.0  # 0: no limit
    daily_quota: int = 0  # mails; 0: none
    monthly_quota: int = 0
    latency_ms: float = 0.0  # from the arrival of a call to its answer
    slow_s: float = 30.0
    keys: bool = True  # false: Idempotency-Key is ignored, which Resend never does
    name_index: bool = True  # whether a refusal says which mail it is about
    reject_addresses: tuple[str, ...] = ()  # refused with 422
    suppressed_addresses: tuple[str, ...] = ()  # accepted, then email.suppressed
    failed_addresses: tuple[str, ...] = ()  # accepted, then email.failed
    bounce_fraction: float = 0.0  # of the addresses, chosen by their hash
    complaint_fraction: float = 0.0
    sent_delay_s: float = 0.0
    outcome_delay_s: float = 0.0
    muted: tuple[str, ...] = ()  # event types that are never posted
    webhooks_paused: bool = False
    faults: Mapping[str, Dose] = field(default_factory=lambda: {fault.value: Dose() for fault in Fault})


def changed(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """`settings` with `changes`; of `faults`, those not named stay. Raises ValueError that says what is wrong."""
    kinds = {one.name: type(getattr(settings, one.name)) for one in fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in kinds:
            raise ValueError(f"there is no setting {name!r}")
        values[name] = _faults(settings.faults, value) if name == "faults" else _value(name, kinds[name], value)
    return replace(settings, **values)


def shown(settings: Settings) -> dict[str, Any]:
    """The settings as JSON."""
    return asdict(settings)


class Dice:
    """Decides which fault strikes; the same seed and calls give the same faults. `struck` counts them."""

    def __init__(self, seed: int | None) -> None:
        self._random = random.Random(seed)
        self.struck: dict[str, int] = {}

    def strikes(self, settings: Settings, fault: Fault) -> tuple[bool, Settings]:
        """Whether `fault` strikes now, and the settings after it."""
        dose = settings.faults[fault.value]
        if dose.count > 0:
            rest = {**settings.faults, fault.value: replace(dose, count=dose.count - 1)}
            settings = replace(settings, faults=rest)
        elif not (dose.probability and self._random.random() < dose.probability):
            return False, settings
        self.struck[fault.value] = self.struck.get(fault.value, 0) + 1
        return True, settings


def _value(name: str, kind: type, value: Any) -> Any:
    if kind is tuple and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (isinstance(value, int | float) and not 0 <= value < math.inf):
        raise ValueError(f"{name}: {value!r} is not a {'list of strings' if kind is tuple else kind.__name__}")
    return value


def _faults(present: Mapping[str, Dose], value: Any) -> dict[str, Dose]:
    doses = dict(present)
    for name, parts in value.items() if isinstance(value, dict) else [("faults", None)]:
        if name not in doses:
            raise ValueError(f"there is no fault {name!r}; there are {', '.join(doses)}")
        if not isinstance(parts, dict) or not parts.keys() <= {"probability", "count"}:
            raise ValueError(f'{name}: a fault is given as {{"probability": 0.1}} or {{"count": 3}}')
        given = {part: _value(part, type(getattr(Dose(), part)), one) for part, one in parts.items()}
        doses[name] = Dose(**given)
    return doses
