"""The alerts' memory in SQL: a restart neither repeats what was told nor forgets what fires."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from core.alerts import State
from core.ledger.tables import alert_state
from core.tables import from_us, to_us

Key = tuple[str, str]  # name of the rule, subject
QUIET = State()


@dataclass(frozen=True, slots=True)
class Remembered:
    """The state of one alert and the value that was found last."""

    state: State
    value: float


def read(connection: Connection) -> Mapping[Key, Remembered]:
    """Every alert that fires, or whose clearing has not been told."""
    return {
        (row.name, row.subject): Remembered(State(_moment(row.firing_since), _moment(row.last_told_at)), row.value)
        for row in connection.execute(select(alert_state).order_by(alert_state.c.name, alert_state.c.subject))
    }


def write(connection: Connection, key: Key, remembered: Remembered) -> None:
    """Remember one alert; one that is quiet needs no row."""
    name, subject = key
    if remembered.state == QUIET:
        of_alert = (alert_state.c.name == name) & (alert_state.c.subject == subject)
        connection.execute(delete(alert_state).where(of_alert))
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    values = {
        "firing_since": remembered.state.since and to_us(remembered.state.since),
        "last_told_at": remembered.state.told_at and to_us(remembered.state.told_at),
        "value": remembered.value,
    }
    insert = dialect.insert(alert_state).values(name=name, subject=subject, **values)
    connection.execute(insert.on_conflict_do_update(index_elements=["name", "subject"], set_=values))


def _moment(us: int | None) -> datetime | None:
    return None if us is None else from_us(us)
