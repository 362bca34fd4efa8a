"""One batch through the ledger: each seam, each answer, on both engines."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from consumer.apply_events import EventWork
from core.clock import utc_now
from core.ledger import lifecycle
from core.ledger.identity import Identity
from core.ledger.states import OPEN, Happening
from sender.clients.base import Answer, Rate
from tests.sending import AMBIGUOUS, NOT_SENT, Provider, World, answering
from tests.system import event

READERS = [f"reader{number:03}@example.com" for number in range(3)]
ONCE = dict.fromkeys(READERS, 1)
DAY = timedelta(hours=24)


def test_a_batch_is_sent_once_and_settled_with_the_providers_ids(world: World) -> None:
    campaign = world.campaign(3)

    assert world.move(campaign) == ["accepted"]

    assert world.provider.mails == ONCE
    assert world.status(campaign) == {
        "total": 3, "sent": 3, "reserved": 0, "failed": 0, "skipped": 0, "remaining": 0, "unknown": 0
    }  # fmt: skip
    rows = world.rows("SELECT address, provider_message_id FROM delivery_ledger ORDER BY recipient_id")
    assert [tuple(row) for row in rows] == [(reader, f"id-{at}") for at, reader in enumerate(READERS)]
    (key,) = {key for key, _ in world.provider.calls}
    assert key == f"{world.env}.{campaign}.{world.call_ids(campaign)[0]}"


def test_a_redelivered_message_sends_nothing_again(world: World) -> None:
    campaign = world.campaign(3)
    message = world.message(campaign, world.call_ids(campaign)[0])

    assert [*world.work.apply([message]), *world.work.apply([message])] == ["accepted", "settled_already"]
    assert world.provider.mails == ONCE


def test_a_lost_answer_is_repeated_with_the_same_bytes_and_key_and_mails_nobody_twice(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.script = [Provider.accept_and_drop]

    assert world.move(campaign) == ["retry_wait"]
    assert world.status(campaign)["reserved"] == 3
    world.later(timedelta(minutes=11))
    assert world.move(campaign) == ["accepted"]

    assert world.provider.mails == ONCE
    assert len(set(world.provider.calls)) == 1


def test_after_the_window_what_may_have_been_accepted_is_unknown_and_never_resent_by_itself(
    world: World,
) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)

    world.later(DAY)
    world.move(campaign)
    world.later(DAY)

    assert world.states(campaign) == ["unknown"]
    assert world.status(campaign)["unknown"] == 3
    assert len(world.provider.calls) == 1


@pytest.mark.parametrize(
    ("choice", "sent", "state"),
    [(Happening.ASSUMED_SENT, 3, ["accepted"]), (Happening.RESENT, 0, ["discarded", "planned"])],
)
def test_an_operator_settles_an_unknown_call_and_the_choice_is_audited(
    world: World, choice: Happening, sent: int, state: list[str]
) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering(AMBIGUOUS, 500)]
    world.move(campaign)
    world.later(DAY)
    world.move(campaign)

    with world.engine.begin() as connection:
        lifecycle.resolve(connection, world.call_ids(campaign)[0], "tester", choice)

    assert world.status(campaign)["sent"] == sent
    assert world.states(campaign) == state
    assert world.rows("SELECT action FROM operator_action ORDER BY id")[-1].action == choice.value


@pytest.mark.parametrize("status", [0, 429, 401, 403])
def test_what_was_certainly_not_sent_is_unsealed_and_sent_once_later(world: World, status: int) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering(NOT_SENT, status)]

    assert world.move(campaign) == ["discarded"]
    assert world.status(campaign)["remaining"] == 3
    assert world.states(campaign) == ["discarded", "planned"]
    world.later(timedelta(minutes=11))
    world.redis.delete(f"mailward:{world.env}:rate:account-1:quiet")
    assert world.move(campaign) == ["accepted"]

    assert world.provider.mails == ONCE
    assert len({key for key, _ in world.provider.calls}) == 2


def test_who_complains_while_the_provider_is_away_is_not_mailed_when_it_is_back(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering(NOT_SENT)]
    world.move(campaign)
    journal(world, READERS[1])
    world.later(timedelta(days=3))
    world.redis.delete(f"mailward:{world.env}:rate:account-1:quiet")
    world.move(campaign)

    assert world.provider.mails == {READERS[0]: 1, READERS[2]: 1}
    assert world.status(campaign)["skipped"] == 1


@pytest.mark.parametrize("after_ambiguous", [False, True])
def test_a_pause_reason_pauses_the_campaign_and_fails_nobody(world: World, after_ambiguous: bool) -> None:
    campaign = world.campaign(3)
    refused = answering(Happening.REJECTED_FOR_ALL, 422, "invalid_from_address", pause="sender refused")
    world.provider.script = [answering(AMBIGUOUS, 500), refused] if after_ambiguous else [refused]
    world.move(campaign)
    world.later(timedelta(minutes=11))
    if after_ambiguous:
        world.move(campaign)

    assert world.state(campaign) == ("paused", "sender refused")
    assert world.status(campaign)["failed"] == 0
    assert world.states(campaign) == (["unknown"] if after_ambiguous else ["discarded", "planned"])


def test_a_rejection_of_one_recipient_is_split_until_the_bad_one_stands_alone(world: World) -> None:
    campaign = world.campaign(8)

    def refuse_reader_5(provider: Provider, body: bytes, key: str) -> object:
        if b"reader005" in body:
            return answering(Happening.REJECTED, 422, "invalid_to")(provider, body, key)
        return provider.accept(body, key)

    world.provider.script = [refuse_reader_5] * 20  # type: ignore[list-item]
    for _ in range(5):
        world.move(campaign)

    assert world.provider.mails == {f"reader{n:03}@example.com": 1 for n in range(8) if n != 5}
    assert (
        world.rows("SELECT recipient_id, reason FROM delivery_ledger WHERE status = 'failed'")[0].recipient_id == "r005"
    )
    assert world.status(campaign)["sent"] == 7


def test_a_rejection_that_names_its_culprit_fails_that_one_and_sends_the_others(world: World) -> None:
    campaign = world.campaign(8)
    world.provider.script = [answering(Happening.REJECTED, 422, "invalid_to", culprits=(5,))]
    world.move(campaign)
    world.move(campaign)

    assert world.status(campaign) | {"total": 8} == world.status(campaign)
    assert (world.status(campaign)["sent"], world.status(campaign)["failed"]) == (7, 1)
    assert len(world.provider.calls) == 2


def refuse(world: World, among: range) -> None:
    """From now on the provider refuses every call for any of these readers, and names nobody."""
    bad = [f"reader{number:03}@".encode() for number in among]

    def step(provider: Provider, body: bytes, key: str) -> Answer:
        if any(one in body for one in bad):
            return answering(Happening.REJECTED, 422, "validation_error")(provider, body, key)
        return provider.accept(body, key)

    world.provider.script = [step] * 2000


def move_until_nothing_is_open(world: World, campaign: str) -> None:
    while world.state(campaign)[0] == "running" and world.call_ids(campaign, *map(str, OPEN)):
        world.move(campaign)


def test_a_refusal_that_seems_to_be_about_everybody_pauses_before_everybody_has_failed(world: World) -> None:
    campaign = world.campaign(300)
    refuse(world, range(300))

    move_until_nothing_is_open(world, campaign)
    state, reason = world.state(campaign)
    first = world.status(campaign)["failed"]
    with world.engine.begin() as connection:
        lifecycle.resume(connection, campaign, "tester")
    move_until_nothing_is_open(world, campaign)

    assert (state, reason.split(":")[0]) == ("paused", "mass_rejection")
    assert 20 <= first < 40
    assert world.state(campaign)[0] == "paused"
    assert 40 <= world.status(campaign)["failed"] < 80
    assert world.status(campaign)["remaining"] > 200


def test_many_recipients_that_are_refused_among_more_who_are_not_fail_alone(world: World) -> None:
    campaign = world.campaign(100)
    refuse(world, range(75, 100))

    move_until_nothing_is_open(world, campaign)

    assert (world.status(campaign)["sent"], world.status(campaign)["failed"]) == (75, 25)
    assert world.state(campaign) == ("running", "")
    assert set(world.provider.mails.values()) == {1}


@pytest.mark.parametrize("happening", [Happening.REJECTED, Happening.KEY_TAKEN])
def test_a_definite_refusal_after_an_ambiguous_attempt_proves_nothing(world: World, happening: Happening) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering(AMBIGUOUS), answering(happening, 422)]
    world.move(campaign)
    world.later(timedelta(minutes=11))
    world.move(campaign)

    assert world.states(campaign) == ["unknown"]
    assert world.status(campaign)["failed"] == 0


def test_a_conflict_with_a_running_attempt_waits_and_repeats_the_same(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.script = [Provider.accept_and_drop, answering(Happening.RUNNING_ELSEWHERE, 409)]
    for _ in range(3):
        world.move(campaign)
        world.later(timedelta(minutes=11))

    assert world.states(campaign) == ["accepted"]
    assert world.provider.mails == ONCE


def test_another_provider_account_makes_an_undecided_call_unknown(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering(AMBIGUOUS)]
    world.move(campaign)
    world.provider.account = "account-2"
    world.later(timedelta(minutes=11))
    world.move(campaign, worker=world.worker("worker-2"))

    assert world.states(campaign) == ["unknown"]
    assert len(world.provider.calls) == 1


def test_a_pause_between_seal_and_call_holds_the_call_back(world: World) -> None:
    campaign = world.campaign(3)

    def pause() -> None:
        with world.engine.begin() as connection:
            assert lifecycle.pause(connection, campaign, "tester", "look first") == []

    after_sealing(world, pause)
    assert world.move(campaign) == ["not_begun_discarded"]

    assert world.provider.calls == []
    assert world.status(campaign)["remaining"] == 3
    with world.engine.begin() as connection:
        lifecycle.resume(connection, campaign, "tester")
    world.move(campaign)
    assert world.provider.mails == ONCE


def test_who_complains_between_seal_and_call_is_not_mailed(world: World) -> None:
    campaign = world.campaign(3)
    after_sealing(world, lambda: journal(world, READERS[0]))

    assert world.move(campaign) == ["not_begun_discarded"]
    world.move(campaign)

    assert world.provider.mails == {READERS[1]: 1, READERS[2]: 1}


def test_an_emptied_redis_pauses_every_campaign_and_skips_nobody(world: World) -> None:
    first = world.campaign(3)
    world.move(first)
    campaign = world.campaign(3, audience="store")
    world.redis.delete(f"mailward:{world.env}:ledger")

    assert world.move(campaign) == ["ledger_emptied"]

    assert world.state(campaign)[0] == "paused"
    assert world.status(campaign)["skipped"] == 0
    assert len(world.provider.calls) == 1


def test_records_missing_in_bulk_pause_the_campaign_and_skip_nobody(world: World) -> None:
    campaign = world.campaign(100, audience="store")
    for number in range(40):
        world.redis.delete(world.store.key(f"reader{number:03}@example.com"))

    assert world.move(campaign) == ["paused"]

    assert world.state(campaign)[0] == "paused"
    assert world.status(campaign)["skipped"] == 0
    with world.engine.begin() as connection:
        lifecycle.resume(connection, campaign, "tester", accept_missing=True)
    world.move(campaign)
    assert (world.status(campaign)["sent"], world.status(campaign)["skipped"]) == (60, 40)


def test_a_few_missing_records_are_skipped_as_absent(world: World) -> None:
    campaign = world.campaign(100, audience="store")
    world.redis.delete(world.store.key("reader007@example.com"))
    world.move(campaign)

    assert world.rows("SELECT recipient_id, reason FROM delivery_ledger WHERE status = 'skipped'")[0].reason == "absent"
    assert world.status(campaign)["sent"] == 99


def test_a_ledger_that_another_one_has_replaced_sends_nothing(world: World) -> None:
    campaign = world.campaign(3)
    world.redis.set(f"mailward:{world.env}:ledger", f"{'0' * 16}:9")

    assert world.move(campaign) == ["ledger_foreign"]
    assert world.provider.calls == []
    assert world.state(campaign)[0] == "paused"


def test_a_late_success_of_an_old_lease_is_true(world: World) -> None:
    campaign = world.campaign(3)
    other = world.worker("worker-2")
    stalled = []

    def stall(provider: Provider, body: bytes, key: str) -> object:
        """The first worker's call takes so long that a second one takes it over and hears of a running attempt."""
        world.later(timedelta(minutes=11))
        provider.script = [answering(Happening.RUNNING_ELSEWHERE, 409)]
        stalled.extend(world.move(campaign, worker=other))
        return provider.accept(body, key)

    world.provider.script = [stall]  # type: ignore[list-item]
    assert world.move(campaign) == ["accepted"]

    assert stalled == ["retry_wait"]
    assert world.provider.mails == ONCE
    assert world.status(campaign)["sent"] == 3


def test_two_workers_with_one_message_make_one_call(world: World) -> None:
    campaign = world.campaign(3)
    other = world.worker("worker-2")
    again: list[str] = []
    world.provider.before = lambda: again.extend(world.move(campaign, worker=other))

    assert world.move(campaign) == ["accepted"]

    assert again == ["not_due"]
    assert world.provider.mails == ONCE


def test_the_providers_limit_is_learned_and_a_429_costs_no_attempt(world: World) -> None:
    campaign = world.campaign(3)
    said = Rate(limit=7, retry_after_s=30)
    world.provider.script = [answering(NOT_SENT, 429, "rate_limit_exceeded", rate=said)]
    world.move(campaign)

    assert int(world.redis.get(f"mailward:{world.env}:rate:account-1:limit") or 0) == 7  # type: ignore[arg-type]
    assert world.work._tools.rate.take() > 25
    assert world.move(campaign) == ["waits_for_rate"]
    assert world.status(campaign)["remaining"] == 3


def test_cancel_skips_whom_nobody_called_and_leaves_what_may_have_been_accepted_unknown(world: World) -> None:
    campaign = world.campaign(250)
    first, second, _ = world.call_ids(campaign)
    world.work.apply([world.message(campaign, first)])
    world.provider.script = [answering(AMBIGUOUS)]
    world.work.apply([world.message(campaign, second)])

    with world.engine.begin() as connection:
        lifecycle.cancel(connection, campaign, "tester")

    assert world.states(campaign) == ["accepted", "unknown", "cancelled"]
    assert world.status(campaign) == {
        "total": 250, "sent": 100, "reserved": 100, "failed": 0, "skipped": 50, "remaining": 0, "unknown": 100
    }  # fmt: skip


def after_sealing(world: World, happens: Callable[[], None]) -> None:
    """Let something happen once, between the seal of the next call and its attempt."""
    real, left = world.ledger_key.write, [happens]

    def write(own: Identity) -> bool:
        if own.seals and left:
            left.pop()()
        return real(own)

    world.ledger_key.write = write  # type: ignore[method-assign]


def journal(world: World, address: str) -> None:
    """A complaint that has been applied."""

    world.store.put(address, b"{}")
    EventWork(world.store, world.engine, utc_now).apply([event(1, recipient=address, event_id=f"resend:{address}")])


def test_messages_of_a_ledger_that_ours_has_replaced_are_dropped_and_pause_nothing(world: World) -> None:
    first = world.campaign(3)
    world.move(first)
    campaign = world.campaign(3)
    message = world.message(campaign, world.call_ids(campaign)[0])

    assert world.work.apply([replace(message, ledger=f"{'0' * 16}:7")]) == {"of_another_ledger": 1}

    assert world.state(campaign)[0] == "running"
    assert len(world.provider.calls) == 1
