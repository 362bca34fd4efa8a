"""Troubles that other people's campaign senders ran into, at what enforces what Resend does: each gets one mail."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
import zstandard
from sqlalchemy import text

from consumer import readings
from consumer.apply_events import EventWork
from core import alerts, database
from core.batch_message import BatchMessage
from core.clock import utc_now
from core.ledger import lifecycle
from core.ledger.states import Happening
from core.topology import Topology
from dev.sandbox.server import API_KEY, SandboxServer
from sender.clients.base import Answer
from sender.clients.resend import Resend
from sender.send_batch import SendWork
from sender.sweeper import Sweeper
from tests.sending import Provider, World
from tests.system import event, wait_until

LATER = timedelta(minutes=11)  # longer than any pause between two attempts


class Killed(BaseException):
    """The worker's process is gone."""


class Mortal(Resend):
    """A client whose process dies with the answer of its first call in hand."""

    def call(self, body: bytes, idempotency_key: str) -> Answer:
        super().call(body, idempotency_key)
        raise Killed


def with_client(world: World, client: Resend) -> SendWork:
    """A worker on another connection to the provider. It need not wait: what it waits for has passed at once."""
    work = World(world.engine, world.redis, world.env, provider=cast(Provider, client)).work
    return SendWork(replace(work._tools, sleep=lambda _: forget_the_rate(world)))


def pause(world: World, campaign: str) -> None:
    with world.engine.begin() as connection:
        lifecycle.pause(connection, campaign, "tester", "a look")


def resume(world: World, campaign: str) -> None:
    with world.engine.begin() as connection:
        lifecycle.resume(connection, campaign, "tester")


def deliver(world: World, campaign: str, call_id: int) -> str:
    (result,) = world.work.apply([world.message(campaign, call_id)])
    return result


def complain(world: World, address: str) -> None:
    EventWork(world.store, world.engine, utc_now).apply([event(recipient=address, event_id=f"resend:{address}")])


def sweep(world: World) -> None:
    """What the clock does; its messages are delivered by the tests themselves."""
    Sweeper(world.engine, lambda _: None, Topology("test.")).sweep()


def results(sandbox: SandboxServer) -> list[str]:
    return [one["result"] for one in sandbox.arrivals()]


def keys(sandbox: SandboxServer) -> set[str]:
    return {one["key"] for one in sandbox.arrivals()}


def assert_each_got_one(sandbox: SandboxServer, campaign: str, count: int) -> None:
    summary = {"recipients": count, "mails": count, "min": 1, "max": 1, "duplicates": 0}
    assert sandbox.recipients(campaign) == summary


# --- errors in the middle, kills, restarts ---


def test_a_campaign_that_is_stopped_by_errors_goes_on_each_time_with_whom_it_had_not_mailed(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(250)
    assert deliver(world, campaign, world.call_ids(campaign)[0]) == "accepted"

    for _ in range(2):
        sandbox.fault("unauthorized", count=1)
        deliver(world, campaign, world.call_ids(campaign, "planned")[0])
        assert world.state(campaign) == ("paused", "credentials")
        assert (world.status(campaign)["sent"], world.status(campaign)["remaining"]) == (100, 150)
        assert world.status(campaign)["failed"] == 0
        resume(world, campaign)
    world.move(campaign)

    assert [one["mails"] for one in sandbox.arrivals() if one["result"] == "accepted"] == [100, 100, 50]
    assert_each_got_one(sandbox, campaign, 250)
    assert world.status(campaign)["sent"] == 250


def test_a_campaign_whose_worker_died_is_not_over_before_everybody_is_handled(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(250)
    first, second, third = world.call_ids(campaign)
    deliver(world, campaign, first)
    with pytest.raises(Killed):
        with_client(world, Mortal(API_KEY, sandbox.url)).apply([world.message(campaign, second)])
    deliver(world, campaign, third)

    sweep(world)
    assert world.state(campaign)[0] == "running"
    assert (world.status(campaign)["sent"], world.status(campaign)["reserved"]) == (150, 100)

    world.later(LATER)
    world.move(campaign)
    sweep(world)
    assert world.state(campaign)[0] == "completed"
    assert world.status(campaign)["sent"] == world.status(campaign)["total"] == 250
    assert_each_got_one(sandbox, campaign, 250)


def test_two_workers_that_get_every_message_at_once_make_one_call_of_each(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(1000)
    messages = [world.message(campaign, call_id) for call_id in world.call_ids(campaign)]
    come_to: Counter[str] = Counter()

    def work(seed: int) -> None:
        worker = world.worker(f"worker-{seed}")
        for message in random.Random(seed).sample(messages, len(messages)):
            come_to.update(worker.apply([message]))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert come_to["accepted"] == len(messages) == len(keys(sandbox)) == len(sandbox.arrivals())
    assert come_to.total() == 2 * len(messages)
    assert_each_got_one(sandbox, campaign, 1000)


# --- answers that are lost ---


@pytest.mark.parametrize("fault", ["drop_accepted", "cut_accepted", "error_accepted"])
def test_a_call_that_was_accepted_and_badly_answered_three_times_is_repeated_under_one_key(
    sandboxed: World, sandbox: SandboxServer, fault: str
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    sandbox.fault(fault, count=3)

    for _ in range(3):
        assert world.move(campaign) == ["retry_wait"]
        assert world.status(campaign)["reserved"] == 3
        world.later(LATER)
    assert world.move(campaign) == ["accepted"]

    assert results(sandbox) == ["accepted", *["replayed"] * 3]
    assert len(keys(sandbox)) == 1
    assert_each_got_one(sandbox, campaign, 3)


@pytest.mark.parametrize(
    ("age", "repeated"),
    [
        (timedelta(hours=21, minutes=59), True),
        (timedelta(hours=22), False),
        (timedelta(hours=23, minutes=59), False),  # the provider still knows the key, and a late repeat may be too late
        (timedelta(hours=24, minutes=1), False),
    ],
    ids=str,
)
def test_a_call_without_an_outcome_is_repeated_while_the_provider_surely_knows_its_key_and_never_after(
    sandboxed: World, sandbox: SandboxServer, age: timedelta, repeated: bool
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    with pytest.raises(Killed):
        with_client(world, Mortal(API_KEY, sandbox.url)).apply([world.message(campaign, world.call_ids(campaign)[0])])
    pause(world, campaign)
    sandbox.advance(age.total_seconds())
    world.later(age)

    resume(world, campaign)
    world.move(campaign)
    sweep(world)

    assert results(sandbox) == ["accepted", "replayed"] if repeated else ["accepted"]
    assert world.states(campaign) == ["accepted" if repeated else "unknown"]
    assert world.status(campaign)["unknown"] == (0 if repeated else 3)
    assert_each_got_one(sandbox, campaign, 3)


@pytest.mark.parametrize(("choice", "mails"), [(Happening.ASSUMED_SENT, 1), (Happening.RESENT, 2)])
def test_a_call_that_was_left_for_a_day_needs_attention_and_only_an_operator_may_risk_a_second_mail(
    sandboxed: World, sandbox: SandboxServer, choice: Happening, mails: int
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    (call,) = world.call_ids(campaign)
    with pytest.raises(Killed):
        with_client(world, Mortal(API_KEY, sandbox.url)).apply([world.message(campaign, call)])
    sandbox.advance(25 * 3600)
    world.later(timedelta(hours=25))
    pause(world, campaign)
    resume(world, campaign)
    for _ in range(3):
        world.move(campaign)
        sweep(world)
    assert (world.states(campaign), world.status(campaign)["unknown"]) == (["unknown"], 3)
    with database.reading(world.engine) as connection:
        found = {one.rule: one.value for one in readings.of_campaigns(connection, utc_now())}
    assert found[alerts.UNKNOWN_SENDS] == 3

    with world.engine.begin() as connection:
        lifecycle.resolve(connection, call, "tester", choice)
    sweep(world)
    world.move(campaign)

    assert world.status(campaign)["sent"] == 3
    assert sandbox.recipients(campaign)["max"] == mails  # so the doubt was real


def test_a_call_that_still_runs_at_the_provider_is_waited_for_and_repeated_as_it_was(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    sandbox.set(slow_s=0.6)
    sandbox.fault("slow_accepted", count=1)
    impatient = Resend(API_KEY, sandbox.url, total_timeout_s=0.2)
    assert world.move(campaign, worker=with_client(world, impatient)) == ["retry_wait"]

    world.later(LATER)
    assert world.move(campaign) == ["retry_wait"]
    assert results(sandbox)[1:] == ["concurrent_idempotent_requests"]
    assert world.status(campaign)["reserved"] == 3

    def repeated() -> bool:
        world.later(LATER)
        return world.move(campaign) == ["accepted"]

    wait_until(repeated, "the first attempt has ended")
    assert results(sandbox)[-1] == "replayed"
    assert len(keys(sandbox)) == 1
    assert_each_got_one(sandbox, campaign, 3)


def test_a_key_that_was_used_for_other_bytes_is_no_success_and_is_left_to_an_operator(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    (call,) = world.call_ids(campaign)
    other = Resend(API_KEY, sandbox.url)
    other.call(b'[{"from":"a@example.org","to":["b@example.net"],"subject":"x","text":"x"}]', key_of(world, call))

    assert world.move(campaign) == ["unknown"]
    for _ in range(2):
        world.later(LATER)
        world.move(campaign)

    assert results(sandbox) == ["accepted", "invalid_idempotent_request"]
    assert (world.status(campaign)["sent"], world.status(campaign)["unknown"]) == (0, 3)
    (row,) = world.rows("SELECT error FROM send_call")
    assert row.error.startswith("invalid_idempotent_request: This idempotency key has been used")


@pytest.mark.parametrize("named", [True, False])
def test_a_refusal_of_the_repetition_says_nothing_of_the_first_attempt_which_timed_out(
    sandboxed: World, sandbox: SandboxServer, named: bool
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(4)
    sandbox.fault("error", count=1)
    assert world.move(campaign) == ["retry_wait"]

    sandbox.set(reject_addresses=["reader002@example.com"], name_index=named)
    for _ in range(3):
        world.later(LATER)
        world.move(campaign)
        sweep(world)

    assert results(sandbox) == ["application_error", "validation_error"]
    assert world.states(campaign) == ["unknown"]
    assert (world.status(campaign)["unknown"], world.status(campaign)["failed"]) == (4, 0)


def key_of(world: World, call_id: int) -> str:
    (row,) = world.rows("SELECT campaign_id FROM send_call WHERE id = :id", id=call_id)
    return f"{world.env}.{row.campaign_id}.{call_id}"


# --- the same bytes, whatever has changed since ---


def edit_variables(world: World) -> None:
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE delivery_ledger SET variables = :v"), {"v": '{"name": "Another"}'})


def edit_addresses(world: World) -> None:
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE delivery_ledger SET address = 'x' || address, verbatim = 'X' || address"))


def edit_content(world: World) -> None:
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE campaign_content SET body = replace(body, 'Hello', 'Good bye')"))


def edit_records(world: World) -> None:
    world.store.put_many((f"reader{number:03}@example.com", b'{"name": "Another"}') for number in range(3))


def one_complains(world: World) -> None:
    complain(world, "reader001@example.com")


def one_is_proven(world: World) -> None:
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE delivery_ledger SET status = 'sent' WHERE recipient_id = 'r001'"))
        connection.execute(text("UPDATE campaign SET reserved = reserved - 1, sent = sent + 1"))


@pytest.mark.parametrize(
    "change", [edit_variables, edit_addresses, edit_content, edit_records, one_complains, one_is_proven]
)
def test_a_sealed_call_is_repeated_with_the_bytes_it_was_sealed_with(
    world: World, change: Callable[[World], None]
) -> None:
    campaign = world.campaign(3)
    world.provider.script = [Provider.accept_and_drop]
    assert world.move(campaign) == ["retry_wait"]

    change(world)
    world.later(LATER)
    assert world.move(campaign, worker=world.worker("a new process")) == ["accepted"]

    assert len(world.provider.calls) == 2
    assert len(set(world.provider.calls)) == 1
    assert set(world.provider.mails.values()) == {1}


def die_once_sealed(world: World, campaign: str) -> None:
    """A worker seals the campaign's call and dies before it tells Redis."""
    real = world.ledger_key.write

    def die(own: Any) -> bool:
        if own.seals:
            raise Killed
        return real(own)

    world.ledger_key.write = die  # type: ignore[assignment,method-assign]
    with pytest.raises(Killed):
        world.move(campaign)
    assert world.states(campaign) == ["leased"]
    world.ledger_key.write = real  # type: ignore[method-assign]


def spoil(world: World, payload: bytes) -> None:
    """What a disk, or somebody with a console, may do to the stored bytes of a request."""
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE send_call SET payload = :payload"), {"payload": payload})


SPOILT = {"other bytes": zstandard.compress(b"[]"), "no compressed bytes": b"spoilt", "nothing": b""}


@pytest.mark.parametrize("payload", SPOILT.values(), ids=SPOILT)
def test_bytes_that_are_not_those_that_were_sealed_are_not_sent_and_their_call_is_unknown(
    world: World, payload: bytes
) -> None:
    campaign = world.campaign(3)
    world.provider.script = [Provider.accept_and_drop]
    assert world.move(campaign) == ["retry_wait"]

    spoil(world, payload)
    world.later(LATER)

    assert world.move(campaign) == ["not_repeated_unknown"]
    assert world.states(campaign) == ["unknown"]
    assert world.status(campaign)["unknown"] == 3
    assert world.rows("SELECT error FROM send_call")[0].error == "bytes_changed, after read_timeout"
    assert world.rows("SELECT label, n FROM counts WHERE name = 'unknown'") == [("bytes_changed", 3)]
    assert len(world.provider.calls) == 1


@pytest.mark.parametrize("payload", SPOILT.values(), ids=SPOILT)
def test_bytes_that_were_spoilt_before_the_first_attempt_are_sealed_anew(world: World, payload: bytes) -> None:
    campaign = world.campaign(3)
    die_once_sealed(world, campaign)

    spoil(world, payload)
    world.later(LATER)
    assert world.move(campaign) == ["not_repeated_discarded"]
    assert world.states(campaign) == ["discarded", "planned"]
    world.move(campaign)

    assert world.status(campaign)["sent"] == 3
    assert set(world.provider.mails.values()) == {1}


def test_what_another_account_sealed_and_never_called_is_sealed_anew(world: World) -> None:
    campaign = world.campaign(3)
    die_once_sealed(world, campaign)
    world.provider.account = "account-2"

    world.later(LATER)
    world.move(campaign, worker=world.worker("with the new key"))
    assert world.states(campaign) == ["discarded", "planned"]
    world.move(campaign, worker=world.worker("with the new key"))

    assert len(world.provider.calls) == 1
    assert set(world.provider.mails.values()) == {1}
    assert {row.account for row in world.rows("SELECT account FROM send_call WHERE state = 'accepted'")} == {
        "account-2"
    }


# --- a provider that is away, or wants less ---


def test_a_provider_that_is_away_over_a_weekend_gets_each_mail_once_but_none_of_those_who_complained_meanwhile(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(150)
    refused = with_client(world, Resend(API_KEY, "http://127.0.0.1:1", total_timeout_s=1))
    for hour in range(0, 60, 3):
        if hour in (21, 42):
            complain(world, f"reader{hour:03}@example.com")
        sweep(world)
        assert set(world.move(campaign, worker=refused)) == {"discarded"}
        assert world.status(campaign)["reserved"] == 0
        world.later(timedelta(hours=3))

    forget_the_rate(world)
    world.move(campaign)
    sweep(world)

    assert_each_got_one(sandbox, campaign, 148)
    assert (world.status(campaign)["sent"], world.status(campaign)["skipped"]) == (148, 2)
    assert len(sandbox.arrivals()) == 2
    assert world.state(campaign)[0] == "completed"


def forget_the_rate(world: World) -> None:
    """As if the time had passed for which the provider's word about its rate holds."""
    for key in world.redis.scan_iter(f"mailward:{world.env}:rate:*"):
        world.redis.delete(key)


def test_three_calls_too_many_wait_as_told_and_fail_nobody(sandboxed: World, sandbox: SandboxServer) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    sandbox.fault("storm", count=3)

    for refused in (1, 2, 3):
        assert world.move(campaign) == ["discarded"]
        assert world.work._tools.rate.take() > 0
        assert (world.status(campaign)["remaining"], world.status(campaign)["failed"]) == (3, 0)
        assert len(sandbox.arrivals()) == refused
        forget_the_rate(world)
    assert world.move(campaign) == ["accepted"]

    assert results(sandbox) == ["rate_limit_exceeded"] * 3 + ["accepted"]
    assert_each_got_one(sandbox, campaign, 3)


def test_a_limit_that_never_ends_fails_nobody_and_is_told_of(sandboxed: World, sandbox: SandboxServer) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    sandbox.fault("storm", probability=1.0)
    for _ in range(20):
        assert world.move(campaign) == ["discarded"]
        forget_the_rate(world)
    with world.engine.begin() as connection:
        connection.execute(text("UPDATE campaign SET started_at = started_at - :us, progress_at = NULL"), {"us": 10**9})

    with database.reading(world.engine) as connection:
        found = [one for one in readings.of_campaigns(connection, utc_now()) if one.rule is alerts.NO_PROGRESS]

    assert [one.subject for one in found] == [campaign]
    assert world.status(campaign) == {
        "total": 3, "sent": 0, "reserved": 0, "failed": 0, "skipped": 0, "remaining": 3, "unknown": 0
    }  # fmt: skip


def test_a_quota_that_is_used_up_pauses_the_campaign_with_its_reason_and_fails_nobody(
    sandboxed: World, sandbox: SandboxServer
) -> None:
    world, campaign = sandboxed, sandboxed.campaign(3)
    sandbox.set(daily_quota=2)

    world.move(campaign)

    assert world.state(campaign) == ("paused", "daily_quota")
    assert (world.status(campaign)["remaining"], world.status(campaign)["failed"]) == (3, 0)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_ten_batches_keep_below_a_limit_that_others_use_too(sandboxed: World, sandbox: SandboxServer) -> None:
    world, campaign = sandboxed, sandboxed.campaign(1000)
    sandbox.set(rate_per_s=8)
    worker = SendWork(replace(world.work._tools, sleep=time.sleep))
    done = threading.Event()
    others = threading.Thread(target=log_in_now_and_then, args=(sandbox, done))
    others.start()
    try:
        while world.call_ids(campaign, "planned"):
            for call_id in world.call_ids(campaign, "planned"):
                worker.apply([BatchMessage(str(world.message(campaign, call_id).ledger), campaign, call_id)])
    finally:
        done.set()
        others.join()

    assert_each_got_one(sandbox, campaign, 1000)
    assert (world.status(campaign)["sent"], world.status(campaign)["failed"]) == (1000, 0)
    ours = [one["result"] for one in sandbox.arrivals(key="") if one["key"].startswith(world.env)]
    assert Counter(ours)["accepted"] == 10
    assert len(ours) < 20  # a refusal is heeded: nobody hammers


def log_in_now_and_then(sandbox: SandboxServer, done: threading.Event) -> None:
    """Mails of the same team that have nothing to do with campaigns."""
    client = Resend(API_KEY, sandbox.url)
    number = 0
    while not done.wait(0.3):
        number += 1
        body = b'[{"from":"a@example.org","to":["login@example.net"],"subject":"Your code","text":"x"}]'
        client.call(body, f"login-{number}")
