"""Statements as the driver takes them: what a call costs is mostly asking, so much is asked at once.

SQLAlchemy's own forms take longer to prepare than most statements of a call take to run, and on PostgreSQL a question
by itself costs a change of processes there and one back.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple, cast

import psycopg
from psycopg.rows import namedtuple_row
from sqlalchemy import Connection, CursorResult
from sqlalchemy.exc import DBAPIError

Both = tuple[str, str]
"""A statement as SQLite and as PostgreSQL take it, with parameters as :name."""

Asked = tuple[Both, Mapping[str, Any]]
"""A statement with its values."""


Later = Callable[[], Asked]
"""What makes a statement when its turn comes; on PostgreSQL while the server is busy with those before it."""

Driver = psycopg.Connection[Any]


class Answer(NamedTuple):
    """What one of several statements came to: its rows, if it returns any, and how many it found or changed."""

    rows: Sequence[Any]
    affected: int


def both(statement: str) -> Both:
    """A statement that both engines take."""
    return statement, statement


def run(connection: Connection, statement: Both, values: Mapping[str, Any]) -> CursorResult[Any]:
    """Run the engine's form of `statement` as it stands. Values are those of the driver, so booleans come back as
    numbers on SQLite."""
    if connection.dialect.name == "postgresql":
        return connection.exec_driver_sql(_for_psycopg(statement[1]), values)
    return connection.exec_driver_sql(statement[0], values)


def together(connection: Connection, *asked: Asked | Later) -> list[Answer]:
    """Run statements that need nothing of each other's answers, in order; on PostgreSQL in one round trip.

    Each sees what those before it did, and what others had committed when its turn came. Raises what `run` raises.
    """
    if connection.dialect.name != "postgresql":
        return [_answer(run(connection, *_made(one))) for one in asked]
    return _pipelined(connection, asked)


def finish(connection: Connection, *asked: Asked) -> None:
    """Run the last statements of a transaction and commit it; on PostgreSQL in one round trip. Nothing can follow."""
    if connection.dialect.name == "postgresql":
        _pipelined(connection, asked, committing=True)
    else:
        together(connection, *asked)
    connection.commit()


def _pipelined(connection: Connection, asked: Sequence[Asked | Later], *, committing: bool = False) -> list[Answer]:
    with psycopg_of(connection) as driver:
        cursors = [driver.cursor(row_factory=namedtuple_row) for _ in asked]
        with driver.pipeline():
            for cursor, one in zip(cursors, asked, strict=True):
                statement, values = _made(one)
                cursor.execute(_for_psycopg(statement[1]).encode(), values)
            if committing:
                driver.commit()
        return [Answer(one.fetchall() if one.rownumber is not None else (), one.rowcount) for one in cursors]


@contextmanager
def psycopg_of(connection: Connection) -> Iterator[Driver]:
    """The driver's connection, within the same transaction, for what SQLAlchemy has no form of; it raises as SQLAlchemy
    does."""
    driver = cast("Driver", connection.connection.driver_connection)
    try:
        yield driver
    except psycopg.Error as error:
        if driver.closed:
            connection.invalidate(error)
        raise DBAPIError.instance(
            None, None, error, psycopg.Error,
            hide_parameters=True, connection_invalidated=driver.closed, dialect=connection.dialect,
        ) from error  # fmt: skip


def _made(one: Asked | Later) -> Asked:
    return one() if callable(one) else one


def _answer(result: CursorResult[Any]) -> Answer:
    rows = result.all() if result.returns_rows else ()
    return Answer(rows, result.rowcount)


@cache
def _for_psycopg(statement: str) -> str:
    return re.sub(r"(?<!:):(\w+)", r"%(\1)s", statement.replace("%", "%%"))


def as_json(values: Sequence[Any]) -> str:
    """A JSON array parameter."""
    return json.dumps(values)
