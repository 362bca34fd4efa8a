"""Statements as the driver takes them: what a call costs is mostly asking, so much is asked at once.

SQLAlchemy's own forms take longer to prepare than most statements of a call take to run, and on PostgreSQL a question
by itself costs a change of processes there and one back.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import psycopg
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from core.pipeline import Answer, Driver, Session, Statement

Both = tuple[str, str]
"""A statement as SQLite and as PostgreSQL take it, with parameters as :name."""

Asked = tuple[Both, Mapping[str, Any]]
"""A statement with its values: texts, numbers, truth values (numbers on SQLite), bytes, or null."""

Later = Callable[[], Asked]
"""What makes a statement when its turn comes; on PostgreSQL while the server is busy with those before it."""


def both(statement: str) -> Both:
    """A statement that both engines take."""
    return statement, statement


def run(connection: Connection, statement: Both, values: Mapping[str, Any]) -> Answer:
    """Run the engine's form of `statement` as it stands. Raises DBAPIError."""
    return together(connection, (statement, values))[0]


def together(connection: Connection, *asked: Asked | Later) -> list[Answer]:
    """Run statements that need nothing of each other's answers, in order; on PostgreSQL in one round trip.

    Each sees what those before it did, and what others had committed when its turn came. Raises DBAPIError.
    """
    if connection.dialect.name == "postgresql":
        return _exchange(connection, asked, commit=False)
    return [_on_sqlite(connection, *(one() if callable(one) else one)) for one in asked]


def finish(connection: Connection, *asked: Asked) -> None:
    """Run the last statements of a transaction and commit it; on PostgreSQL in one round trip. Nothing can follow."""
    if connection.dialect.name == "postgresql":
        _exchange(connection, asked, commit=True)
    else:
        together(connection, *asked)
    connection.commit()


def as_json(values: Sequence[Any]) -> str:
    """A JSON array parameter."""
    return json.dumps(values)


@contextmanager
def psycopg_of(connection: Connection) -> Iterator[Driver]:
    """The driver's connection, within the same transaction, for what SQLAlchemy has no form of; it raises as SQLAlchemy
    does."""
    driver = cast("Driver", connection.connection.driver_connection)
    try:
        yield driver
    except psycopg.Error as error:
        raise DBAPIError.instance(
            None, None, error, psycopg.Error,
            hide_parameters=True, connection_invalidated=driver.closed, dialect=connection.dialect,
        ) from error  # fmt: skip
    finally:  # also after an interrupt, which must not become the error of a rollback on a closed connection
        if driver.closed and not connection.invalidated:
            connection.invalidate()


def _exchange(connection: Connection, asked: Sequence[Asked | Later], *, commit: bool) -> list[Answer]:
    if not connection.in_transaction():
        connection.begin()  # SQLAlchemy must know that there is one, and refuses where one has ended
    with psycopg_of(connection) as driver:
        session: Session | None = connection.info.get("session")  # which lives as long as the driver's connection
        if session is None:
            session = connection.info["session"] = Session(driver)
        return session.exchange([_for_postgresql(one) for one in asked], commit=commit)


def _for_postgresql(one: Asked | Later) -> Statement | Callable[[], Statement]:
    if callable(one):
        return lambda: _postgresql_form(one())
    return _postgresql_form(one)


def _postgresql_form(asked: Asked) -> Statement:
    (_, statement), values = asked
    return statement, values


def _on_sqlite(connection: Connection, statement: Both, values: Mapping[str, Any]) -> Answer:
    result = connection.exec_driver_sql(statement[0], values)
    rows = result.all() if result.returns_rows else ()
    return Answer(rows, result.rowcount)
