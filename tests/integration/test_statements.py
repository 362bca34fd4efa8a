"""Statements that are asked together: one round trip on PostgreSQL, and in all else as if each had been asked alone."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError, IntegrityError, InvalidRequestError, OperationalError

from core import database
from core.errors import Outage
from core.failures import judge
from core.statements import Asked, both, finish, run, together

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


def prepared(connection: Connection) -> int:
    return int(connection.execute(text("SELECT count(*) FROM pg_prepared_statements")).scalar_one())


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


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_a_look_leaves_prepared_what_was_prepared(own_engine: Engine) -> None:
    with own_engine.begin() as connection:
        for _ in range(10):  # psycopg prepares what it has met five times
            together(connection, COUNT)
        before = prepared(connection)

    processes(own_engine)

    with own_engine.begin() as connection:
        assert prepared(connection) >= before > 0
