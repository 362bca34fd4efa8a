"""The dead-letter log on both engines: one row per attempt, bounded texts, and what became of each letter."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, select

from core import database, dead_letter_log
from core.dead_letter_log import Closing, Failure
from core.tables import dead_letter_log as table
from core.tables import from_us

QUEUE = "email-events"
NOW = datetime(2026, 11, 29, 12, 0, 0, 123456, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
FAILURE = Failure(
    queue=QUEUE,
    message_id="resend:msg_1",
    replay=0,
    attempt=3,
    failed_at=NOW,
    error_type="WrongType",
    error="wrong_type: a hash",
    stack="Traceback …",
    campaign_id="spring",
    recipient="jane@example.com",
)
CLOSING = Closing(QUEUE, "resend:msg_1", 0, "replayed", "by hand", LATER)


def record(engine: Engine, *failures: Failure) -> None:
    for failure in failures:
        with engine.begin() as connection:
            dead_letter_log.record(connection, failure)


def close(engine: Engine, closing: Closing) -> None:
    with engine.begin() as connection:
        dead_letter_log.close(connection, closing)


def keep(engine: Engine, closing: Closing, body: bytes) -> None:
    with engine.begin() as connection:
        dead_letter_log.keep(connection, closing, body)


def latest(engine: Engine, *message_ids: str) -> dict[str, Failure]:
    with database.reading(engine) as connection:
        return dead_letter_log.latest(connection, QUEUE, message_ids)


def rows(engine: Engine) -> list[Any]:
    with database.reading(engine) as connection:
        return list(connection.execute(select(table).order_by(table.c.id)))


def test_a_failure_is_found_by_its_message(engine: Engine) -> None:
    record(engine, FAILURE)

    assert latest(engine, "resend:msg_1", "resend:msg_2") == {"resend:msg_1": FAILURE}


def test_a_failure_without_campaign_and_recipient_has_none_in_sql(engine: Engine) -> None:
    bare = replace(FAILURE, campaign_id="", recipient="")
    record(engine, bare)

    assert [(row.campaign_id, row.recipient) for row in rows(engine)] == [(None, None)]
    assert latest(engine, "resend:msg_1") == {"resend:msg_1": bare}


def test_a_second_failure_of_one_attempt_is_dropped(engine: Engine) -> None:
    record(engine, FAILURE, replace(FAILURE, error="another", failed_at=LATER))

    assert [row.error for row in rows(engine)] == ["wrong_type: a hash"]


@pytest.mark.parametrize(
    "other",
    [
        replace(FAILURE, queue="campaign-batches"),
        replace(FAILURE, message_id="resend:msg_2"),
        replace(FAILURE, replay=1),
        replace(FAILURE, attempt=2),
    ],
)
def test_another_queue_message_replay_or_attempt_is_another_row(engine: Engine, other: Failure) -> None:
    record(engine, FAILURE, other)

    assert len(rows(engine)) == 2


def test_texts_are_cut_and_cleaned_of_what_sql_cannot_take(engine: Engine) -> None:
    record(engine, replace(FAILURE, error="\x00half \ud800" + "e" * 2000, stack="\x00\udfff" + "s" * 10_000))

    (row,) = rows(engine)
    assert row.error.startswith("half ?e")
    assert len(row.error) <= dead_letter_log.ERROR_LIMIT
    assert row.stack.startswith("?s")
    assert len(row.stack) <= dead_letter_log.STACK_LIMIT


@pytest.mark.parametrize("odd", ["half \ud800", "nul \x00"], ids=["surrogate", "NUL"])
@pytest.mark.parametrize("name", ["campaign_id", "recipient"])
def test_no_subject_of_a_failure_keeps_it_from_being_written(engine: Engine, name: str, odd: str) -> None:
    record(engine, replace(FAILURE, **{name: odd}))  # type: ignore[arg-type]

    assert len(rows(engine)) == 1


def test_the_newest_open_failure_of_a_message_is_the_latest(engine: Engine) -> None:
    newest = replace(FAILURE, replay=1, error="newest")
    record(engine, FAILURE, newest, replace(FAILURE, queue="campaign-batches", error="elsewhere"))

    assert latest(engine, "resend:msg_1") == {"resend:msg_1": newest}


def test_many_messages_are_looked_up_at_once(engine: Engine) -> None:
    failures = {f"resend:msg_{number}": replace(FAILURE, message_id=f"resend:msg_{number}") for number in range(1200)}
    with engine.begin() as connection:
        for failure in failures.values():
            dead_letter_log.record(connection, failure)

    assert latest(engine, *failures) == failures
    assert latest(engine) == {}


def test_closing_closes_the_rows_of_this_replay_and_earlier_ones_and_no_other(engine: Engine) -> None:
    record(
        engine,
        *(replace(FAILURE, replay=replay) for replay in range(3)),
        replace(FAILURE, attempt=2),
        replace(FAILURE, message_id="resend:msg_2"),
        replace(FAILURE, queue="campaign-batches"),
    )

    close(engine, replace(CLOSING, replay=1))

    closed = [row for row in rows(engine) if row.closed_at is not None]
    assert {(row.queue, row.message_id) for row in closed} == {(QUEUE, "resend:msg_1")}
    assert sorted((row.replay, row.attempt) for row in closed) == [(0, 2), (0, 3), (1, 3)]
    assert {(from_us(row.closed_at), row.closed_as, row.closed_reason) for row in closed} == {
        (LATER, "replayed", "by hand")
    }


def test_a_closed_failure_is_no_longer_the_latest_and_a_new_one_is(engine: Engine) -> None:
    again = replace(FAILURE, replay=1)
    record(engine, FAILURE)
    close(engine, CLOSING)
    assert latest(engine, "resend:msg_1") == {}

    record(engine, again)

    assert latest(engine, "resend:msg_1") == {"resend:msg_1": again}


def test_closing_again_leaves_what_was_closed_as_it_was(engine: Engine) -> None:
    record(engine, FAILURE)
    close(engine, replace(CLOSING, closed_as="discarded"))
    close(engine, CLOSING)

    assert [row.closed_as for row in rows(engine)] == ["discarded"]


def test_closing_what_was_never_logged_does_nothing(engine: Engine) -> None:
    close(engine, CLOSING)

    assert rows(engine) == []


def test_the_history_of_a_message_is_every_row_with_how_it_was_closed(engine: Engine) -> None:
    again = replace(FAILURE, replay=1)
    record(engine, FAILURE)
    close(engine, CLOSING)
    record(engine, again, replace(FAILURE, message_id="resend:msg_2"))

    with database.reading(engine) as connection:
        history = dead_letter_log.history(connection, QUEUE, "resend:msg_1")

    assert history == [(FAILURE, "replayed: by hand"), (again, "")]


@pytest.mark.parametrize("logged", [True, False])
def test_a_letter_that_is_settled_keeps_its_bytes_and_the_reason(engine: Engine, logged: bool) -> None:
    if logged:
        record(engine, FAILURE)
    closing = replace(CLOSING, closed_as="discarded", reason="spam trap")

    keep(engine, closing, b"\x00\xffbody")
    close(engine, closing)

    kept = [row for row in rows(engine) if row.body is not None]
    assert [(row.body, row.closed_as, row.closed_reason) for row in kept] == [
        (b"\x00\xffbody", "discarded", "spam trap")
    ]
    assert latest(engine, "resend:msg_1") == {}
    assert len(rows(engine)) == 1 + logged


def test_two_letters_of_one_id_keep_both_their_bytes_and_the_same_one_twice_only_once(engine: Engine) -> None:
    for body in (b"one", b"other", b"one"):
        keep(engine, CLOSING, body)

    assert sorted(row.body for row in rows(engine)) == [b"one", b"other"]


def test_a_reason_is_cut_and_cleaned_of_what_sql_cannot_take(engine: Engine) -> None:
    record(engine, FAILURE)
    close(engine, replace(CLOSING, reason="\x00half \ud800" + "r" * 2000))

    (row,) = rows(engine)
    assert row.closed_reason.startswith("half ?r")
    assert len(row.closed_reason) <= dead_letter_log.ERROR_LIMIT
