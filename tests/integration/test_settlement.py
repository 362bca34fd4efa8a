"""What the provider's events do to deliveries and calls, on both engines."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from sqlalchemy import event as hooks
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from consumer.apply_events import EventWork
from core import database
from core.events import Event, Kind
from core.ledger import lifecycle, tags
from core.ledger.settlement import RANK, settle_events
from core.ledger.states import Happening
from tests.sending import AMBIGUOUS, NOT_SENT, Provider, World, answering

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
FIRST = "reader000@example.com"


def about(world: World, campaign: str, number: int = 0, kind: Kind = Kind.ACCEPTED, **changes: Any) -> Event:
    """An event of the mail to reader `number`, with the tags that it was sent with."""
    address = f"reader{number:03}@example.com"
    values: dict[str, Any] = {
        "event_id": f"resend:{campaign}:{number}:{kind}", "provider": "resend", "kind": kind, "recipient": address,
        "recipient_verbatim": address, "occurred_at": NOW, "received_at": NOW, "rule": "test",
        "provider_message_id": f"m-{number}", "campaign_id": campaign, "recipient_id": tags.tag_of(f"r{number:03}"),
        "environment": world.env,
    }  # fmt: skip
    return Event(**values | changes)


def settle(world: World, *events: Event, env: str | None = None) -> Counter[tuple[str, str, str]]:
    with world.engine.begin() as connection:
        return settle_events(connection, events, world.env if env is None else env)


def deliveries(world: World, campaign: str) -> list[tuple[Any, ...]]:
    query = """SELECT status, outcome, provider_message_id FROM delivery_ledger
    WHERE campaign_id = :c ORDER BY recipient_id"""
    return [tuple(row) for row in world.rows(query, c=campaign)]


def adds_up(world: World, campaign: str) -> bool:
    counted = Counter(status for status, _, _ in deliveries(world, campaign))
    status = world.status(campaign)
    return counted == +Counter(
        pending=status["remaining"], **{name: status[name] for name in ("reserved", "sent", "failed", "skipped")}
    )


def test_every_kind_has_a_rank_of_its_own() -> None:
    assert set(RANK) == set(Kind)
    assert len(set(RANK.values())) == len(RANK)


def test_a_later_word_is_kept_beside_the_status(world: World) -> None:
    campaign = world.campaign(2)
    world.move(campaign)

    settle(world, about(world, campaign, 0, Kind.DELIVERED), about(world, campaign, 1, Kind.HARD_BOUNCE))

    assert [row[:2] for row in deliveries(world, campaign)] == [("sent", "delivered"), ("sent", "hard_bounce")]


@pytest.mark.parametrize("order", list(permutations([Kind.ACCEPTED, Kind.COMPLAINT, Kind.DELIVERED])))
def test_the_outcome_only_rises_whatever_the_order_of_the_events(world: World, order: tuple[Kind, ...]) -> None:
    campaign = world.campaign(1)
    world.move(campaign)

    for kind in order:
        settle(world, about(world, campaign, kind=kind))

    assert deliveries(world, campaign)[0][1] == "complaint"


def test_events_of_one_delivery_in_one_batch_count_as_one_settling(world: World) -> None:
    campaign = world.campaign(2)
    world.provider.script = [Provider.accept_and_drop]
    world.move(campaign)

    tally = settle(world, about(world, campaign), about(world, campaign, kind=Kind.DELIVERED), about(world, campaign))

    assert tally == {("sends", "resend", "event"): 1}
    assert deliveries(world, campaign) == [("sent", "delivered", "m-0"), ("reserved", None, None)]
    assert adds_up(world, campaign)


@pytest.mark.parametrize("kind", [Kind.ACCEPTED, Kind.REJECTED, Kind.DEFERRED, Kind.HARD_BOUNCE])
def test_a_call_is_settled_once_events_account_for_every_member(world: World, kind: Kind) -> None:
    campaign = world.campaign(3)
    world.provider.script = [Provider.accept_and_drop]
    world.move(campaign)

    settle(world, about(world, campaign, 0, kind), about(world, campaign, 2, kind))
    assert world.states(campaign) == ["retry_wait"]
    settle(world, about(world, campaign, 1, kind))

    assert world.states(campaign) == ["accepted"]
    assert deliveries(world, campaign) == [("sent", kind.value, f"m-{number}") for number in range(3)]
    assert adds_up(world, campaign)


def test_events_settle_what_was_unknown(world: World) -> None:
    campaign = world.campaign(2)
    world.provider.script = [answering(AMBIGUOUS, 500), answering(Happening.KEY_TAKEN, 409)]
    world.move(campaign)
    with world.engine.begin() as connection:
        lifecycle.cancel(connection, campaign, "tester")
    assert world.states(campaign) == ["unknown"]

    settle(world, about(world, campaign, 0), about(world, campaign, 1))

    assert world.states(campaign) == ["accepted"]
    assert world.status(campaign)["unknown"] == 0
    assert world.status(campaign)["sent"] == 2


def test_events_may_come_before_our_own_response(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.before = lambda: settle(world, *(about(world, campaign, number) for number in range(3)))

    world.move(campaign)

    assert world.states(campaign) == ["accepted"]
    assert [status for status, _, _ in deliveries(world, campaign)] == ["sent"] * 3
    assert adds_up(world, campaign)


def test_an_event_of_one_member_before_the_response_leaves_the_rest_to_the_response(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.before = lambda: settle(world, about(world, campaign, 1))

    world.move(campaign)

    assert world.states(campaign) == ["accepted"]
    assert [status for status, _, _ in deliveries(world, campaign)] == ["sent"] * 3
    assert adds_up(world, campaign)


def test_a_mail_that_was_given_up_is_sent_all_the_same_when_an_event_names_it(world: World) -> None:
    campaign = world.campaign(2)
    world.provider.script = [answering(NOT_SENT)]  # so it said, and yet
    world.move(campaign)
    assert world.states(campaign) == ["discarded", "planned"]

    settle(world, about(world, campaign, 0))

    assert [row[0] for row in deliveries(world, campaign)] == ["sent", "pending"]
    world.later(timedelta(hours=1))
    world.move(campaign)
    assert world.provider.mails == {"reader001@example.com": 1}
    assert adds_up(world, campaign)


def test_a_cancelled_member_that_an_event_names_was_sent(world: World) -> None:
    campaign = world.campaign(1)
    with world.engine.begin() as connection:
        lifecycle.cancel(connection, campaign, "tester")

    settle(world, about(world, campaign))

    assert deliveries(world, campaign) == [("sent", "accepted", "m-0")]
    assert adds_up(world, campaign)


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": "another"},
        {"environment": ""},
        {"campaign_id": ""},
        {"campaign_id": "nosuchid"},
        {"campaign_id": "not a tag\x00"},
        {"recipient": "stranger@example.com"},
        {"recipient_id": "r001"},
        {"kind": Kind.OTHER},
    ],
)
def test_an_event_that_is_not_of_this_delivery_settles_nothing(world: World, changes: dict[str, Any]) -> None:
    campaign = world.campaign(1)
    world.provider.script = [Provider.accept_and_drop]
    world.move(campaign)

    assert settle(world, about(world, campaign, **changes)) == {}

    assert deliveries(world, campaign) == [("reserved", None, None)]
    assert world.states(campaign) == ["retry_wait"]


def test_without_an_environment_of_our_own_nothing_is_settled(world: World) -> None:
    campaign = world.campaign(1)

    settle(world, about(world, campaign, environment=""), env="")

    assert deliveries(world, campaign)[0][0] == "pending"


def test_an_event_without_the_recipients_tag_settles_by_its_address(world: World) -> None:
    campaign = world.campaign(1)
    world.move(campaign)

    settle(world, about(world, campaign, recipient_id="", kind=Kind.DELIVERED))

    assert deliveries(world, campaign)[0][1] == "delivered"


def test_a_second_message_of_one_delivery_is_a_duplicate_that_is_counted(world: World) -> None:
    campaign = world.campaign(1)
    world.move(campaign)
    known = deliveries(world, campaign)[0][2]

    same = settle(world, about(world, campaign, provider_message_id=known))
    no_id = settle(world, about(world, campaign, provider_message_id=""))
    later = settle(world, about(world, campaign, kind=Kind.DELIVERED, provider_message_id="another"))
    second = settle(world, about(world, campaign, provider_message_id="another"))

    assert (same, no_id, later) == ({}, {}, {})
    assert second == {("email.duplicate_detected", "resend", "second_message"): 1}
    assert deliveries(world, campaign)[0][2] == known


def test_events_without_tags_ask_sql_nothing(world: World) -> None:
    asked = 0

    def count(*_: object) -> None:
        nonlocal asked
        asked += 1

    hooks.listen(world.engine, "before_cursor_execute", count)
    with database.reading(world.engine) as connection:
        settle_events(connection, [about(world, "", 0), about(world, "", 1)], world.env)
    hooks.remove(world.engine, "before_cursor_execute", count)

    assert asked == 0


def test_the_events_consumer_settles_with_removing_and_with_other_events_alike(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.script = [Provider.accept_and_drop]
    world.move(campaign)
    world.store.put_many((f"reader{number:03}@example.com", b"{}") for number in range(3))
    work = EventWork(world.store, world.engine, lambda: NOW, world.env)

    outcomes = work.apply(
        [about(world, campaign, 0), about(world, campaign, 1, Kind.COMPLAINT), about(world, campaign, 2, Kind.REJECTED)]
    )

    assert outcomes == {"ignored": 2, "removed": 1}
    assert world.states(campaign) == ["accepted"]
    assert [row[1] for row in deliveries(world, campaign)] == ["accepted", "complaint", "rejected"]
    counted = world.rows("SELECT name, label, n FROM counts WHERE name = 'sends'")
    assert [tuple(row) for row in counted] == [("sends", "event", 3)]


def test_events_whose_settling_fails_fail_and_settle_when_they_come_again(world: World) -> None:
    campaign = world.campaign(1)
    world.move(campaign)
    world.store.put_many([(FIRST, b"{}")])
    work = EventWork(world.store, world.engine, lambda: NOW, world.env)
    events = [about(world, campaign, kind=Kind.COMPLAINT)]
    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE delivery_ledger RENAME TO elsewhere"))

    with pytest.raises(DBAPIError):
        work.apply(events)
    assert world.rows("SELECT 1 FROM journal WHERE applied_at IS NOT NULL") == []

    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO delivery_ledger"))
    assert work.apply(events) == {"removed": 1}
    assert deliveries(world, campaign)[0][1] == "complaint"


def test_events_in_any_order_and_the_repeated_call_do_not_deadlock(world: World) -> None:
    campaigns = [world.campaign(100), world.campaign(100)]
    world.provider.script = [Provider.accept_and_drop] * 2
    for campaign in campaigns:
        world.move(campaign)
    world.later(timedelta(hours=1))
    events = [about(world, campaign, number) for campaign in campaigns for number in range(100)]

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(settle, world, *some) for some in (events[50:], events[::-1])]
        running += [threads.submit(world.move, campaign) for campaign in campaigns[::-1]]
        for done in running:
            done.result()

    assert [world.states(campaign) for campaign in campaigns] == [["accepted"]] * 2
    assert all(adds_up(world, campaign) and world.status(campaign)["sent"] == 100 for campaign in campaigns)
