"""Statements that are asked together: one round trip on PostgreSQL, and in all else as if each had been asked alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, InvalidRequestError, OperationalError

from core import database
from core.errors import Outage
from core.failures import judge
from core.statements import Asked, both, finish, run, together
from tests.system import wait_until

COUNT: Asked = both("SELECT count(*) AS n FROM heartbeat"), {}


def beat(process: str, seen_at: int = 1) -> Asked:
    statement = "INSERT INTO heartbeat (process, instance, seen_at) VALUES (:process, 'one', :seen_at)"
    return both(statement), {"process": process, "seen_at": seen_at}


def processes(engine: Engine) -> list[str]:
    with database.reading(engine) as connection:
        return list(connection.execute(text("SELECT process FROM heartbeat ORDER BY process")).scalars())


@pytest.fixture
def own_engine(postgresql_tables: Engine, engine: Engine) -> Iterator[Engine]:
    """The same tables through connections that nobody has used before."""
    one = database.create(engine.url.render_as_string(hide_password=False))
    yield one
    one.dispose()


def test_each_statement_sees_what_those_before_it_did(engine: Engine) -> None:
    with engine.begin() as connection:
        answers = together(connection, COUNT, beat("clock"), COUNT, beat("sends"), COUNT)

    assert [answer.rows[0].n for answer in answers[::2]] == [0, 1, 2]
    assert [answer.affected for answer in answers[1::2]] == [1, 1]
    assert [list(answer.rows) for answer in answers[1::2]] == [[], []]


def test_a_statement_that_fails_undoes_those_before_it(engine: Engine) -> None:
    with pytest.raises(IntegrityError), engine.begin() as connection:
        together(connection, beat("clock"), beat("sends"), beat("clock"), beat("web"))

    assert processes(engine) == []


def test_an_error_shows_no_value(engine: Engine) -> None:
    with pytest.raises(DBAPIError) as caught, engine.begin() as connection:
        together(
            connection,
            beat("clock", seen_at=7),
            (both("SELECT nothing FROM nowhere WHERE 'ann@example.com' = :x"), {"x": "bob@example.com"}),
        )

    assert "bob@example.com" not in str(caught.value)


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_connection_that_is_lost_is_an_outage_and_is_replaced(engine: Engine) -> None:
    def ask_a_server_that_has_gone() -> None:
        with engine.begin() as connection:
            mine = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            with engine.connect() as other:
                other.execute(text("SELECT pg_terminate_backend(:mine, 5000)"), {"mine": mine})
            together(connection, COUNT, beat("clock"))

    with pytest.raises(OperationalError) as caught:
        ask_a_server_that_has_gone()

    assert caught.value.connection_invalidated
    assert judge(caught.value).kind is Outage
    assert processes(engine) == []


def test_what_is_finished_is_committed_and_nothing_can_follow(engine: Engine) -> None:
    with engine.begin() as connection:
        finish(connection, beat("clock"), beat("sends"))
        assert processes(engine) == ["clock", "sends"]
        with pytest.raises(InvalidRequestError):
            run(connection, *COUNT)


def test_what_fails_at_the_finish_is_not_committed(engine: Engine) -> None:
    with pytest.raises(IntegrityError), engine.begin() as connection:
        finish(connection, beat("clock"), beat("clock"))

    assert processes(engine) == []


# --- PostgreSQL alone ---

on_postgresql = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
SLEEP: Asked = both("SELECT pg_sleep(30)"), {}
PREPARED: Asked = both("SELECT count(*) AS n FROM pg_prepared_statements"), {}


@on_postgresql
def test_what_is_prepared_outlives_a_look_a_rollback_and_an_error(own_engine: Engine) -> None:
    with own_engine.begin() as connection:
        together(connection, COUNT, beat("clock"), PREPARED)

    processes(own_engine)
    with own_engine.connect() as connection:
        run(connection, *beat("web"))
        connection.rollback()
    with pytest.raises(IntegrityError):
        together_alone(own_engine, beat("clock"))

    with own_engine.begin() as connection:
        assert together(connection, COUNT, beat("sends"), PREPARED)[-1].rows[0].n == 3
    assert processes(own_engine) == ["clock", "sends"]


@on_postgresql
@pytest.mark.parametrize("all_of_them", [True, False])
def test_what_somebody_has_thrown_away_is_prepared_anew(own_engine: Engine, all_of_them: bool) -> None:
    with own_engine.begin() as connection:
        together(connection, COUNT, PREPARED)
        names = connection.execute(text("SELECT name FROM pg_prepared_statements ORDER BY statement")).scalars().all()
        for name in names if all_of_them else names[:1]:
            connection.exec_driver_sql(f"DEALLOCATE {name}")
    for _ in range(2):  # one error for each thing that is not as it was left
        with suppress(DBAPIError), own_engine.begin() as connection:
            together(connection, COUNT, PREPARED)

    with own_engine.begin() as connection:
        assert [answer.rows[0].n for answer in together(connection, COUNT, PREPARED)] == [0, 2]


@on_postgresql
def test_a_server_that_goes_away_in_the_middle_is_an_outage(engine: Engine) -> None:
    with ThreadPoolExecutor(1) as other:
        other.submit(terminate_the_sleeper, engine)
        with pytest.raises(OperationalError) as caught:
            together_alone(engine, beat("clock"), SLEEP, beat("sends"))

    assert caught.value.connection_invalidated
    assert judge(caught.value).kind is Outage
    assert processes(engine) == []


def together_alone(engine: Engine, *asked: Asked) -> None:
    with engine.begin() as connection:
        together(connection, *asked)


def terminate_the_sleeper(engine: Engine) -> None:
    find = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(30)%'"
    wait_until(lambda: seen(engine, find), "somebody sleeps")


def seen(engine: Engine, query: str) -> int:
    """How many rows there are at this moment: within one transaction the activity would look the same for ever."""
    with engine.connect() as connection:
        return len(connection.execute(text(query)).all())


@on_postgresql
@pytest.mark.parametrize("bad", ["\x00", "a\x00b"])
def test_a_text_that_postgresql_cannot_hold_is_refused_and_the_connection_can_go_on(engine: Engine, bad: str) -> None:
    with engine.connect() as connection:
        with pytest.raises(DataError):
            together(connection, COUNT, beat(bad), beat("clock"))
        connection.rollback()
        assert run(connection, *COUNT).rows[0].n == 0


@on_postgresql
def test_one_that_cannot_be_made_leaves_nothing_behind(engine: Engine) -> None:
    def make() -> Asked:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), engine.begin() as connection:
        together(connection, beat("clock"), make, beat("sends"))

    assert processes(engine) == []


@on_postgresql
def test_the_server_is_at_work_while_the_next_is_made(engine: Engine) -> None:
    def make() -> Asked:
        find = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(0.5)%'"
        wait_until(lambda: seen(engine, find), "the server sleeps")
        return COUNT

    with engine.begin() as connection:
        together(connection, (both("SELECT pg_sleep(0.5)"), {}), make)


@on_postgresql
def test_values_of_every_kind_come_back_as_they_were(engine: Engine) -> None:
    question = """SELECT CAST(:text AS text) AS text, CAST(:number AS bigint) AS number,
    CAST(:truth AS boolean) AS truth, CAST(:bytes AS bytea) AS bytes, CAST(:nothing AS text) AS nothing,
    CAST(:text AS text) AS again"""
    values = {"text": "é'\\%s :x ☃", "number": -(2**62), "truth": False, "bytes": bytes(range(256)), "nothing": None}

    with engine.begin() as connection:
        row = run(connection, both(question), values).rows[0]

    assert row._asdict() == {**values, "again": values["text"]}


@on_postgresql
def test_an_interrupt_stays_an_interrupt(engine: Engine) -> None:
    def make() -> Asked:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), engine.begin() as connection:
        together(connection, beat("clock"), make)

    assert processes(engine) == []


@on_postgresql
def test_an_interrupt_that_breaks_the_exchange_off_costs_the_connection_and_nothing_else(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(psycopg.Connection, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            together_alone(engine, beat("clock"))

    assert processes(engine) == []


@on_postgresql
def test_a_column_of_another_type_is_met_by_a_new_connection(own_engine: Engine) -> None:
    look: Asked = both("SELECT n FROM changing"), {}
    with own_engine.begin() as connection:
        connection.execute(text("CREATE TABLE changing (n integer)"))
        together(connection, look)
    try:
        with own_engine.begin() as connection:
            connection.execute(text("ALTER TABLE changing ALTER COLUMN n TYPE text"))
        with pytest.raises(DBAPIError) as caught:
            together_alone(own_engine, look)

        assert judge(caught.value).kind is Outage
        together_alone(own_engine, look)
    finally:
        with own_engine.begin() as connection:
            connection.execute(text("DROP TABLE changing"))


@on_postgresql
def test_a_commit_that_was_a_rollback_is_said(engine: Engine) -> None:
    with engine.connect() as connection:
        with pytest.raises(IntegrityError):
            together(connection, beat("clock"), beat("clock"))
        with pytest.raises(DBAPIError, match="rolled back"):
            finish(connection)

    assert processes(engine) == []


@on_postgresql
def test_a_value_of_no_known_kind_is_refused(engine: Engine) -> None:
    with pytest.raises(TypeError, match="memoryview"), engine.begin() as connection:
        together(connection, (both("SELECT CAST(:x AS text)"), {"x": memoryview(b"abc")}))
