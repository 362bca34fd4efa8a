"""Start, pause, resume, cancel and resolve, on both engines: what each does, refuses and writes into the audit."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from core.ledger import draft, lifecycle, planning
from core.ledger.campaigns import Refused
from core.ledger.states import Happening
from tests.sending import NOT_SENT, Provider, World, answering


def adds_up(world: World, campaign: str) -> dict[str, int]:
    """The counts, which must agree with themselves and with the deliveries."""
    stats = world.status(campaign)
    counted = dict(
        tuple(row)
        for row in world.rows(
            "SELECT status, count(*) FROM delivery_ledger WHERE campaign_id = :c GROUP BY 1", c=campaign
        )
    )
    parts = {name: stats[name] for name in ("sent", "reserved", "failed", "skipped")} | {"pending": stats["remaining"]}
    assert sum(parts.values()) == stats["total"]
    assert {name: n for name, n in parts.items() if n} == counted
    return stats


def audit(world: World, campaign: str) -> list[str]:
    rows = world.rows("SELECT action FROM operator_action WHERE subject LIKE :c ORDER BY id", c=f"{campaign}%")
    return [row.action for row in rows]


def do(world: World, change: Callable[..., Any], *arguments: object, **named: object) -> Any:
    with world.engine.begin() as connection:
        return change(connection, *arguments, **named)


def waiting(world: World, count: int = 3) -> tuple[str, int]:
    """A campaign whose one call may have been accepted and waits to be repeated."""
    world.provider.script.append(Provider.accept_and_drop)
    campaign = world.campaign(count)
    world.move(campaign)
    (call,) = world.call_ids(campaign, "retry_wait")
    return campaign, call


# --- start ---


def test_a_start_plans_a_call_for_every_hundred_recipients(world: World) -> None:
    campaign = world.campaign(250, start=False)

    assert do(world, lifecycle.start, campaign, "tester", 250) == 3

    ranges = world.rows("SELECT first_id, last_id FROM send_call WHERE campaign_id = :c ORDER BY id", c=campaign)
    assert [tuple(row) for row in ranges] == [("r000", "r099"), ("r100", "r199"), ("r200", "r249")]
    assert world.state(campaign) == ("running", "")


def test_two_starts_are_one(world: World) -> None:
    campaign = world.campaign(250, start=False)
    do(world, lifecycle.start, campaign, "tester")

    assert do(world, lifecycle.start, campaign, "tester") == 0

    assert len(world.call_ids(campaign)) == 3
    assert audit(world, campaign) == ["start"]


def test_two_starts_at_once_are_one(world: World) -> None:
    campaign = world.campaign(250, start=False)
    planned: list[object] = []
    threads = [
        threading.Thread(target=lambda: planned.append(do(world, lifecycle.start, campaign, "tester")))
        for _ in range(2)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(str, planned)) == ["0", "3"]
    assert len(world.call_ids(campaign)) == 3


def test_a_plan_drawn_before_is_used(world: World) -> None:
    campaign = world.campaign(250, start=False)
    drawn = planning.Plan(None, [("r000", "r249")])

    do(world, lifecycle.start, campaign, "tester", drawn=drawn)

    assert len(world.call_ids(campaign)) == 1


def test_a_plan_of_an_audience_that_has_changed_since_is_not_used(world: World) -> None:
    campaign = world.campaign(250, start=False)
    drawn = planning.Plan(1, [("r000", "r099")])

    do(world, lifecycle.start, campaign, "tester", drawn=drawn)

    assert len(world.call_ids(campaign)) == 3


@pytest.mark.parametrize(("count", "expected", "code"), [(3, 4, "other_total"), (0, None, "nobody")])
def test_a_campaign_without_its_recipients_is_not_started(
    world: World, count: int, expected: int | None, code: str
) -> None:
    campaign = world.campaign(3, start=False)
    if not count:
        draft.clear(world.engine, campaign)

    with pytest.raises(Refused) as refused:
        do(world, lifecycle.start, campaign, "tester", expected)

    assert refused.value.code == code
    assert (world.state(campaign)[0], world.call_ids(campaign), audit(world, campaign)) == ("draft", [], [])


@pytest.mark.parametrize("change", [lifecycle.pause, lifecycle.cancel])
def test_what_was_stopped_is_not_started_again(world: World, change: Callable[..., object]) -> None:
    campaign = world.campaign(3)
    do(world, change, campaign, "tester", *(["reason"] if change is lifecycle.pause else []))

    with pytest.raises(Refused, match=r"is paused|is cancelled"):
        do(world, lifecycle.start, campaign, "tester")


@pytest.mark.parametrize(
    "change",
    [
        lambda connection: lifecycle.start(connection, "none", "tester"),
        lambda connection: lifecycle.pause(connection, "none", "tester", ""),
        lambda connection: lifecycle.resume(connection, "none", "tester"),
        lambda connection: lifecycle.cancel(connection, "none", "tester"),
        lambda connection: lifecycle.resolve(connection, 1, "tester", Happening.RESENT),
    ],
)
def test_there_must_be_a_campaign(world: World, change: Callable[[Connection], object]) -> None:
    with pytest.raises(Refused, match="there is no"):
        do(world, change)


# --- pause and resume ---


def test_a_pause_lists_the_calls_in_flight_and_nothing_else_is_sent(world: World) -> None:
    campaign = world.campaign(250)
    listed: list[str] = []

    def pausing() -> None:
        calls = do(world, lifecycle.pause, campaign, "tester", "a reason")
        listed.extend(one.idempotency_key for one in calls)
        world.provider.before = lambda: None

    world.provider.before = pausing
    world.move(campaign)

    assert listed == [key for key, _ in world.provider.calls]
    assert world.state(campaign) == ("paused", "a reason")
    assert (adds_up(world, campaign)["sent"], adds_up(world, campaign)["remaining"]) == (100, 150)


def test_a_resumed_campaign_goes_on_where_it_stopped(world: World) -> None:
    campaign = world.campaign(250)
    world.provider.before = lambda: do(world, lifecycle.pause, campaign, "tester", "a reason")
    world.move(campaign)
    world.provider.before = lambda: None

    do(world, lifecycle.resume, campaign, "tester")
    world.move(campaign)

    assert adds_up(world, campaign)["sent"] == 250
    assert set(world.provider.mails.values()) == {1}
    assert audit(world, campaign) == ["start", "pause", "resume"]


def test_a_second_pause_or_resume_changes_nothing(world: World) -> None:
    campaign = world.campaign(3)
    for reason in ("the first", "the second"):
        do(world, lifecycle.pause, campaign, "tester", reason)
    assert world.state(campaign) == ("paused", "the first")

    for _ in range(2):
        do(world, lifecycle.resume, campaign, "tester")

    assert audit(world, campaign) == ["start", "pause", "resume"]


def test_a_draft_is_neither_paused_nor_resumed(world: World) -> None:
    campaign = world.campaign(3, start=False)

    with pytest.raises(Refused):
        do(world, lifecycle.pause, campaign, "tester", "")
    with pytest.raises(Refused):
        do(world, lifecycle.resume, campaign, "tester")

    assert world.state(campaign)[0] == "draft"


def test_who_was_skipped_for_want_of_a_record_can_be_planned_again(world: World) -> None:
    campaign = world.campaign(3, audience="store")
    key = world.store.key("reader001@example.com")
    world.redis.delete(key)
    world.move(campaign)
    assert adds_up(world, campaign)["skipped"] == 1

    assert do(world, lifecycle.replan_absent, campaign, "tester") == 1

    assert (adds_up(world, campaign)["skipped"], adds_up(world, campaign)["remaining"]) == (0, 1)


# --- cancel ---


def test_a_cancelled_campaign_skips_whoever_was_not_mailed(world: World) -> None:
    campaign = world.campaign(250)
    world.move(campaign)
    other = world.campaign(250)

    do(world, lifecycle.cancel, other, "tester")
    world.move(other)

    assert world.state(other)[0] == "cancelled"
    assert set(world.states(other)) == {"cancelled"}
    assert adds_up(world, other)["skipped"] == 250
    assert adds_up(world, campaign)["sent"] == 250
    assert len(world.provider.calls) == 3


def test_calls_in_flight_settle_after_a_cancel(world: World) -> None:
    campaign = world.campaign(250)
    listed: list[object] = []
    world.provider.before = lambda: listed.extend(do(world, lifecycle.cancel, campaign, "tester"))

    world.move(campaign)

    stats = adds_up(world, campaign)
    assert (len(listed), stats["sent"], stats["skipped"]) == (1, 100, 150)


def test_what_a_cancelled_campaign_gets_back_unsent_is_skipped(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.before = lambda: do(world, lifecycle.cancel, campaign, "tester")
    world.provider.script.append(answering(NOT_SENT, error="refused"))

    world.move(campaign)

    assert (adds_up(world, campaign)["skipped"], world.provider.mails) == (3, {})


def test_a_cancel_leaves_unknown_what_may_have_been_accepted(world: World) -> None:
    campaign, _ = waiting(world)

    do(world, lifecycle.cancel, campaign, "tester")

    assert adds_up(world, campaign)["unknown"] == 3


# --- resolve ---


@pytest.mark.parametrize("state", ["paused", "cancelled"])
@pytest.mark.parametrize(
    ("choice", "then"), [(Happening.ASSUMED_SENT, "sent"), (Happening.RESENT, "remaining")], ids=["sent", "resend"]
)
def test_an_operator_decides_about_what_may_have_been_accepted(
    world: World, state: str, choice: Happening, then: str
) -> None:
    campaign, call = waiting(world)
    if state == "paused":
        do(world, lifecycle.pause, campaign, "tester", "")
    else:
        do(world, lifecycle.cancel, campaign, "tester")
        then = "skipped" if then == "remaining" else then

    assert do(world, lifecycle.resolve, call, "tester", choice) == 3

    assert adds_up(world, campaign)[then] == 3
    assert audit(world, campaign)[-1] == choice.value


def test_what_is_still_being_repeated_is_not_for_an_operator(world: World) -> None:
    campaign, call = waiting(world)

    with pytest.raises(Refused, match="still being repeated"):
        do(world, lifecycle.resolve, call, "tester", Happening.RESENT)

    assert (adds_up(world, campaign)["reserved"], audit(world, campaign)) == (3, ["start"])


def test_what_is_settled_is_not_for_an_operator(world: World) -> None:
    campaign = world.campaign(3)
    world.move(campaign)
    (call,) = world.call_ids(campaign)

    with pytest.raises(Refused, match="is accepted"):
        do(world, lifecycle.resolve, call, "tester", Happening.RESENT)

    assert adds_up(world, campaign)["sent"] == 3


def test_a_second_decision_is_refused(world: World) -> None:
    campaign, call = waiting(world)
    do(world, lifecycle.pause, campaign, "tester", "")
    do(world, lifecycle.resolve, call, "tester", Happening.ASSUMED_SENT)

    with pytest.raises(Refused):
        do(world, lifecycle.resolve, call, "tester", Happening.RESENT)

    assert adds_up(world, campaign)["sent"] == 3


def test_who_is_resent_is_mailed_by_a_new_call_with_a_new_key(world: World) -> None:
    campaign, call = waiting(world)
    do(world, lifecycle.pause, campaign, "tester", "")
    do(world, lifecycle.resolve, call, "tester", Happening.RESENT)
    do(world, lifecycle.resume, campaign, "tester")

    world.later(timedelta(minutes=1))
    world.move(campaign)

    assert len({key for key, _ in world.provider.calls}) == 2
    assert adds_up(world, campaign)["sent"] == 3
