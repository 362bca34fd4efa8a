"""The lock of a call with its campaign, on which every transition rests: who waited for it sees what was written."""

import threading

import pytest
from sqlalchemy import Engine, text

from core.ledger.rows import SECOND, Locked, database_now, lock, lock_and_ask
from core.statements import Asked, both
from tests.sending import World

WAITS_S = 0.3
CALL = "UPDATE send_call SET state = 'leased', lease_epoch = 7"
CAMPAIGN = "UPDATE campaign SET state = 'paused'"


def seen_after_waiting(engine: Engine, campaign: str, call_id: int, changes: list[str]) -> Locked:
    """What a second transaction sees that asks for the lock while the first one makes `changes`."""
    seen: list[Locked | None] = []

    def wait() -> None:
        with engine.begin() as second:
            seen.append(lock(second, campaign, call_id))

    with engine.begin() as first:
        assert lock(first, campaign, call_id) is not None
        waiter = threading.Thread(target=wait)
        waiter.start()
        waiter.join(WAITS_S)
        assert waiter.is_alive(), "it did not wait"
        for change in changes:
            first.execute(text(change))
    waiter.join(10)
    assert seen
    assert seen[0] is not None
    return seen[0]


@pytest.mark.parametrize("changes", [[CALL], [CAMPAIGN], [CALL, CAMPAIGN]], ids=["call", "campaign", "both"])
def test_who_waited_for_the_lock_sees_what_its_holder_wrote(world: World, changes: list[str]) -> None:
    campaign = world.campaign()
    (call_id,) = world.call_ids(campaign)

    locked = seen_after_waiting(world.engine, campaign, call_id, changes)

    assert locked.campaign_state == ("paused" if CAMPAIGN in changes else "running")
    assert (locked.call.state, locked.call.lease_epoch) == (("leased", 7) if CALL in changes else ("planned", 0))


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)  # SQLite's clock is our own
def test_the_time_is_that_at_which_the_lock_was_had(world: World) -> None:
    campaign = world.campaign()
    (call_id,) = world.call_ids(campaign)

    locked = seen_after_waiting(world.engine, campaign, call_id, ["SELECT 1"])

    with world.engine.begin() as connection:
        assert 0 <= database_now(connection) - locked.now < WAITS_S * SECOND / 2


def test_a_call_of_another_campaign_is_not_locked(world: World) -> None:
    mine, other = world.campaign(), world.campaign()
    (call_id,) = world.call_ids(other)

    with world.engine.begin() as connection:
        assert lock(connection, mine, call_id) is None


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)  # on SQLite nobody else writes meanwhile
def test_what_is_asked_with_the_lock_is_answered_as_it_is_once_the_lock_is_had(world: World) -> None:
    campaign = world.campaign()
    (call_id,) = world.call_ids(campaign)
    question: Asked = (
        both("SELECT status FROM delivery_ledger WHERE campaign_id = :c ORDER BY recipient_id"),
        {"c": campaign},
    )
    seen: list[str] = []

    def wait() -> None:
        with world.engine.begin() as second:
            _, (answer,) = lock_and_ask(second, campaign, call_id, question)
            seen.extend(row.status for row in answer.rows)

    with world.engine.begin() as first:
        assert lock(first, campaign, call_id) is not None
        waiter = threading.Thread(target=wait)
        waiter.start()
        waiter.join(WAITS_S)
        assert waiter.is_alive(), "it did not wait"
        first.execute(text("UPDATE delivery_ledger SET status = 'skipped' WHERE recipient_id = 'r001'"))
    waiter.join(10)

    assert seen == ["pending", "skipped", "pending"]
