"""What comes of a body, in the few words that tests of whole tables need."""

import json
from collections.abc import Sequence

from core.events import Event, Kind
from providers.base import Normalised, Provider
from tests.unit.providers.payloads import posted

JANE, JOHN = "jane.doe@example.com", "john@example.org"
COUNTED, PARKED, NOTHING = "counted", "parked", "nothing"
Outcome = tuple[str, str]


def read(provider: Provider, body: object) -> Normalised:
    """What `provider` says of `body`, which is written as JSON unless it is bytes."""
    return provider.normalise(posted(body if isinstance(body, bytes) else json.dumps(body).encode()))


def outcomes(said: Normalised) -> list[Outcome]:
    """(kind, rule) of each event, (COUNTED, rule) and (PARKED, reason) of the rest, in the order of their items."""
    found: list[tuple[int, Outcome]] = [
        *((index, (event.kind, event.rule)) for index, event in zip(said.indexes, said.events, strict=True)),
        *((item.index, (COUNTED, item.rule)) for item in said.counted_items),
        *((item.index, (PARKED, item.reason)) for item in said.parked),
    ]
    return [outcome for _, outcome in sorted(found)]


def only_event(said: Normalised) -> Event:
    """The event of a body that is one and nothing else."""
    assert (len(said.events), said.parked, dict(said.counted)) == (1, (), {})
    return said.events[0]


def ids(provider: Provider, bodies: Sequence[object]) -> list[str]:
    """The ids of the events of `bodies`, each of which has only one."""
    return [only_event(read(provider, body)).event_id for body in bodies]


def changed(recorded_body: bytes, path: str, value: object) -> bytes:
    """A recorded JSON payload with the value at dotted `path` replaced."""
    body = json.loads(recorded_body)
    *parents, last = path.split(".")
    target = body
    for parent in parents:
        target = target[parent]
    target[last] = value
    return json.dumps(body).encode()


def assert_comes_to(said: Normalised, expected: Outcome) -> None:
    """A body of one item is what a table expects: an event about Jane of (kind, rule); PARKED with the beginning of its
    reason; COUNTED as a kind ("" is other); or NOTHING."""
    word, more = expected
    if word == NOTHING:
        assert said == Normalised()
    elif word == COUNTED:
        assert said == Normalised(counted={Kind(more or Kind.OTHER): 1})
    elif word == PARKED:
        assert (said.events, len(said.parked), dict(said.counted)) == ((), 1, {})
        assert said.parked[0].reason.startswith(more)
    else:
        event = only_event(said)
        assert (event.kind, event.rule, event.recipient) == (*expected, JANE)
