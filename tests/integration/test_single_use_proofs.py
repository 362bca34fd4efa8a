"""A proof that is good for one event, on real services and both SQL engines: whatever else shows it has no effect."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from sqlalchemy import Connection, Engine, text

from consumer.apply_events import EventWork
from core import database, single_use
from core.errors import Permanent
from core.events import Event, Kind
from core.pipeline import Answer
from core.recipients import RecipientStore
from core.statements import Both
from core.topology import Topology
from tests.sending import Provider, World
from tests.system import System, event, wait_until

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
PROOF = f"mailgun:{'a' * 50}"
VICTIM = "ceo@example.org"


@pytest.fixture
def store(redis_client: redis.Redis, redis_prefix: str) -> RecipientStore:
    return RecipientStore(redis_client, redis_prefix + "{address}")


@pytest.fixture
def work(store: RecipientStore, engine: Engine) -> EventWork:
    return EventWork(store, engine, lambda: NOW)


def genuine(number: int = 1, kind: Kind = Kind.DELIVERED, proof: str = PROOF) -> Event:
    return replace(event(number, kind), single_use=proof)


def forged(number: int = 99, proof: str = PROOF) -> Event:
    return replace(event(number, Kind.HARD_BOUNCE, VICTIM), single_use=proof)


def record(store: RecipientStore, address: str) -> bytes | None:
    return store.read([store.key(address)])[0]


def rows(engine: Engine, query: str) -> list[Any]:
    with database.reading(engine) as connection:
        return list(connection.execute(text(query)))


def owners(engine: Engine) -> dict[str, str]:
    return {token: event_id for token, event_id in rows(engine, "SELECT token, event_id FROM proof_token")}


def refused(work: EventWork, *events: Event) -> str:
    with pytest.raises(Permanent) as error:
        work.apply(events)
    assert error.value.code == "reused_proof"
    return error.value.text


@pytest.mark.parametrize("kind", [Kind.DELIVERED, Kind.COMPLAINT])
def test_another_event_under_a_used_proof_removes_nobody(
    work: EventWork, store: RecipientStore, engine: Engine, kind: Kind
) -> None:
    store.put(VICTIM, b"{}")
    work.apply([genuine(kind=kind)])
    before = rows(engine, "SELECT * FROM journal"), rows(engine, "SELECT * FROM counts")

    told = refused(work, forged())

    assert record(store, VICTIM) == b"{}"
    assert (rows(engine, "SELECT * FROM journal"), rows(engine, "SELECT * FROM counts")) == before
    assert "resend:msg_99" in told
    assert "resend:msg_1" in told
    assert VICTIM not in told


@pytest.mark.parametrize(
    "changes",
    [{"kind": Kind.HARD_BOUNCE}, {"kind": Kind.HARD_BOUNCE, "recipient": VICTIM, "recipient_verbatim": VICTIM}],
)
def test_an_id_copied_with_the_proof_helps_nobody(
    work: EventWork, store: RecipientStore, changes: dict[str, Any]
) -> None:
    store.put_many([(VICTIM, b"{}"), ("reader1@example.com", b"{}")])
    work.apply([genuine()])

    refused(work, replace(genuine(), **changes))

    assert (record(store, VICTIM), record(store, "reader1@example.com")) == (b"{}", b"{}")


def test_the_same_event_passes_as_often_as_it_comes(work: EventWork, store: RecipientStore) -> None:
    store.put("reader1@example.com", b"{}")
    one = genuine(kind=Kind.COMPLAINT)
    retried = replace(one, received_at=one.received_at + timedelta(hours=8))

    assert work.apply([one, one]) == {"removed": 1, "duplicate": 1}
    assert work.apply([retried]) == {"duplicate": 1}
    assert work.apply([replace(one, single_use="mailgun:signed-anew")]) == {"duplicate": 1}


def test_of_two_events_in_one_batch_the_first_owns_the_proof_for_good(
    work: EventWork, store: RecipientStore, engine: Engine
) -> None:
    store.put_many([(VICTIM, b"{}"), ("reader1@example.com", b"{}"), ("reader2@example.com", b"{}")])
    first, second, neighbour = genuine(kind=Kind.COMPLAINT), forged(), event(2)

    refused(work, neighbour, first, second)

    assert rows(engine, "SELECT * FROM journal") == []
    refused(work, second)
    assert work.apply([first]) == work.apply([neighbour]) == {"removed": 1}
    assert (record(store, VICTIM), record(store, "reader1@example.com")) == (b"{}", None)


def test_an_event_under_a_used_proof_settles_no_delivery(world: World, store: RecipientStore) -> None:
    campaign = world.campaign(1)
    world.provider.script = [Provider.accept_and_drop]
    world.move(campaign)
    work = EventWork(store, world.engine, lambda: NOW, world.env)
    work.apply([genuine()])
    tagged = replace(
        event(7, Kind.ACCEPTED, "reader000@example.com"), campaign_id=campaign, environment=world.env, single_use=PROOF
    )

    refused(work, tagged)

    assert world.status(campaign)["sent"] == 0
    work.apply([replace(tagged, single_use="mailgun:own")])
    assert world.status(campaign)["sent"] == 1


def test_of_two_consumers_at_once_one_gets_the_proof(work: EventWork, engine: Engine) -> None:
    def attempt(batch: list[Event]) -> str:
        try:
            work.apply(batch)
        except Permanent as error:
            return error.code
        return batch[0].detail

    for turn in range(5):
        proofs = [f"mailgun:{turn}-{number}" for number in range(40)]
        mine = [replace(genuine(number, proof=proof), detail="mine") for number, proof in enumerate(proofs)]
        theirs = [replace(genuine(100 + number, proof=proof), detail="theirs") for number, proof in enumerate(proofs)]

        with ThreadPoolExecutor(2) as threads:
            came_to = list(threads.map(attempt, [mine, theirs[::-1]]))

        (winner,) = set(came_to) - {"reused_proof"}
        assert sorted(came_to) == sorted([winner, "reused_proof"])
        won = {one.single_use: one.event_id for one in (mine if winner == "mine" else theirs)}
        assert {proof: owners(engine)[proof] for proof in proofs} == won


def test_events_without_such_a_proof_cost_no_sql_more(work: EventWork, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = single_use.run

    def note(connection: Connection, statement: Both, values: Mapping[str, Any]) -> Answer:
        asked.append(statement[0])
        return real(connection, statement, values)

    monkeypatch.setattr(single_use, "run", note)

    work.apply([event(1), event(2, Kind.DELIVERED)])
    assert asked == []

    work.apply([genuine(3)])
    assert [one for one in asked if "proof_token" in one] == asked != []


def test_a_proof_is_forgotten_after_a_month_but_a_clash_never(work: EventWork, engine: Engine) -> None:
    work.apply([genuine(), genuine(2, proof="mailgun:quiet")])
    refused(work, forged())

    def forget(later: timedelta) -> None:
        with engine.begin() as connection:
            single_use.forget_old(connection, NOW + later)

    forget(single_use.REMEMBERED)
    assert set(owners(engine)) == {PROOF, "mailgun:quiet"}

    forget(single_use.REMEMBERED + timedelta(seconds=1))
    assert set(owners(engine)) == {PROOF}
    refused(work, forged())
    assert work.apply([genuine()]) == {"ignored": 1}


# --- the consumer as a process ---


@pytest.fixture
def path(process_environ: dict[str, str], database_url: str, topology: Topology, tmp_path: Path) -> Iterator[System]:
    """An event path on each SQL engine."""
    system = System(process_environ | {"DATABASE_URL": database_url}, topology, tmp_path)
    yield system
    system.close()


def test_a_forged_event_is_dead_lettered_at_once_again_and_again_and_its_neighbours_are_unharmed(path: System) -> None:
    def dead_letters() -> int:
        return path.depth(path.topology.events.dead_letters)

    neighbours = [f"reader{number}@example.com" for number in range(1, 40)]
    path.put([*neighbours, VICTIM])
    path.publish([genuine(1, Kind.COMPLAINT), *(event(number) for number in range(2, 20)), forged()])
    path.publish(event(number) for number in range(20, 40))

    process = path.start()
    wait_until(lambda: dead_letters() == 1 and path.applied() == 39, "all handled")

    ((properties, body),) = path.letters()
    assert (properties.message_id, properties.headers["attempt"]) == ("resend:msg_99", 1)
    path.publish([body], {"attempt": 1, "replays": 1})
    wait_until(lambda: dead_letters() == 1, "dead-lettered again")

    assert path.stop(process) == 0
    assert [path.record(address) for address in neighbours] == [None] * 39
    assert path.record(VICTIM) == b"{}"
    letters = path.rows("SELECT attempt, replay, error_type, error FROM dead_letter_log ORDER BY replay")
    assert [tuple(row[:3]) for row in letters] == [(1, 0, "Permanent"), (1, 1, "Permanent")]
    assert all(row.error.startswith("reused_proof: resend:msg_99 shows a proof") for row in letters)
    assert path.outcomes() == {"removed": 39}
