"""From values to people: judge each reading, tell what is to be told, remember what was."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Engine

from core import alert_states, database
from core.alert_delivery import Alert
from core.alert_states import Key, Remembered
from core.alerts import RULES, Reading, State, judge, told

PER_PASS = 20  # messages; a flood is cut, and what was not told is told at the next pass


class Alerting:
    """Judges readings. `deliver` says whether the channel took a message."""

    def __init__(self, engine: Engine, deliver: Callable[[Alert], bool], env: str) -> None:
        self._engine, self._deliver, self._env = engine, deliver, env

    def take(self, readings: Sequence[Reading], now: datetime, *, all_there_is: bool = True) -> int:
        """Judge `readings`; returns how many messages were delivered.

        Where they are `all_there_is` to be known now, what is remembered and not among them has come to its end.
        """
        with database.reading(self._engine) as connection:
            before = alert_states.read(connection)
        delivered, alive = 0, True
        for reading in [*readings, *(_vanished(readings, before) if all_there_is else ())]:
            key = (reading.rule.name, reading.subject)
            known = before.get(key, Remembered(State(), 0.0))
            state, tell = judge(reading.rule, reading.value, known.state, now)
            value = known.value if reading.value is None else reading.value
            if tell is not None and alive and delivered < PER_PASS:
                # A channel that did not take one will not take the next: the others wait for the next pass.
                alive = self._deliver(Alert(reading.rule, tell, reading.subject, value, self._env))
                if alive:
                    state, delivered = told(state, tell, now), delivered + 1
            self._remember(key, known, Remembered(state, value))
        return delivered

    def _remember(self, key: Key, before: Remembered, after: Remembered) -> None:
        quiet = before.state == after.state == State()
        if after != before and not quiet:
            with self._engine.begin() as connection:
                alert_states.write(connection, key, after)


def _vanished(readings: Sequence[Reading], before: Mapping[Key, Remembered]) -> list[Reading]:
    """What is remembered and no longer there: a campaign that moves again, a provider that nobody refuses."""
    seen = {(reading.rule.name, reading.subject) for reading in readings}
    gone = [key for key in before if key not in seen and key[0] in RULES]
    return [Reading(RULES[name], subject, 0.0) for name, subject in gone]
