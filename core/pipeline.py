"""Several statements in one exchange with PostgreSQL: they are sent one after the other, then all answers are read.

psycopg's own pipeline waits and sends for each statement by itself, a dozen system calls here and a wake-up there for
each, which is half of what a provider call would cost. This one knows texts, numbers, truth values, bytes and null, and
prepares every statement under a name of its own.
"""

import hashlib
import re
from collections import namedtuple
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.waiting import Ready, Wait

Driver = psycopg.Connection[Any]
Result = pq.abc.PGresult
Statement = tuple[str, Mapping[str, Any]]
"""A statement with its values, which stand in it as :name."""

_DONE = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)
_TEXT, _BINARY = 0, 1
_FRAME = (b"BEGIN", b"COMMIT")
_GONE, _THERE_ALREADY, _OTHER_RESULT = b"26000", b"42P05", b"0A000"  # of prepared statements: SQLSTATE


class Answer(NamedTuple):
    """What a statement came to: its rows, if it returns any, and how many it found or changed."""

    rows: Sequence[Any]
    affected: int


class Compiled(NamedTuple):
    """A statement as the server takes it: its name there, its text with $1, $2 …, the names of its values in order."""

    name: bytes
    text: bytes
    values: tuple[str, ...]


class Session:
    """Exchanges on one connection, on which nobody else prepares anything."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._transformer = Transformer(driver)
        self._prepared: set[bytes] = set()

    def exchange(self, statements: Sequence[Statement | Callable[[], Statement]], *, commit: bool) -> list[Answer]:
        """Run statements in order, in the transaction that is open or begins with them, and commit it if wanted.

        One that has yet to be made is made when its turn comes: the server is at work on those before it. Raises
        psycopg.Error of the first that fails, after which none is run, and what making one raises.
        """
        sent: list[Compiled | bytes] = []
        try:
            self._driver.pgconn.enter_pipeline_mode()
            self._send(statements, commit, sent)
        finally:  # whatever happened, the connection must be fit for a rollback
            results = self._receive()
            self._learn(sent, results)
        return self._read(sent, results)

    def _receive(self) -> list[Result]:
        """End the exchange; a connection of which nobody knows how far it came is closed."""
        pgconn, ended = self._driver.pgconn, False
        try:
            pgconn.pipeline_sync()
            results = self._driver.wait(_received(pgconn))
            pgconn.exit_pipeline_mode()
            ended = True
        finally:
            if not ended:
                self._driver.close()
        return results

    def _send(
        self, statements: Sequence[Statement | Callable[[], Statement]], commit: bool, sent: list[Compiled | bytes]
    ) -> None:
        """Send everything; `sent` says of what there will be results: statements, names to prepare, BEGIN, COMMIT."""
        pgconn = self._driver.pgconn
        if pgconn.transaction_status == pq.TransactionStatus.IDLE:
            pgconn.send_query_params(b"BEGIN", None)
            sent.append(b"BEGIN")
        for one in statements:
            if callable(one):
                pgconn.flush()
            statement, values = one() if callable(one) else one
            compiled = compile_(statement)
            parameters = [_parameter(values[name]) for name in compiled.values]
            formats = [_BINARY if type(values[name]) is bytes else _TEXT for name in compiled.values]
            if compiled.name not in self._prepared and compiled.name not in sent:
                pgconn.send_prepare(compiled.name, compiled.text)
                sent.append(compiled.name)
            pgconn.send_query_prepared(compiled.name, parameters, formats)
            sent.append(compiled)
        if commit:
            pgconn.send_query_params(b"COMMIT", None)
            sent.append(b"COMMIT")

    def _learn(self, sent: Sequence[Compiled | bytes], results: Sequence[Result]) -> None:
        """Note what is prepared: it outlives the failure of what follows, and the transaction."""
        for one, result in zip(sent, results, strict=False):  # an interrupt may fall between sending and noting it
            state = result.error_field(pq.DiagnosticField.SQLSTATE)
            if isinstance(one, Compiled):
                if state == _GONE:
                    self._prepared.clear()  # somebody has thrown it away, and hardly it alone
                elif state == _OTHER_RESULT:
                    self._driver.close()  # a migration has changed a column's type, and plans are of the past
            elif one not in _FRAME and (result.status in _DONE or state == _THERE_ALREADY):
                self._prepared.add(one)

    def _read(self, sent: Sequence[Compiled | bytes], results: Sequence[Result]) -> list[Answer]:
        answers = []
        for one, result in zip(sent, results, strict=True):
            if result.status not in _DONE:
                raise error_from_result(result)
            if isinstance(one, Compiled):
                answers.append(self._answer(result))
            elif one == b"COMMIT" and result.command_status != b"COMMIT":
                raise psycopg.errors.InFailedSqlTransaction("the transaction had failed before and was rolled back")
        return answers

    def _answer(self, result: Result) -> Answer:
        if result.status == pq.ExecStatus.COMMAND_OK:
            return Answer((), result.command_tuples or 0)
        self._transformer.set_pgresult(result)
        make = _row_type(tuple(result.fname(at) or b"" for at in range(result.nfields)))
        return Answer(self._transformer.load_rows(0, result.ntuples, make), result.ntuples)


@cache
def compile_(statement: str) -> Compiled:
    """`statement` with its values numbered."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"${numbers.setdefault(match[1], len(numbers) + 1)}"

    text = re.sub(r"(?<!:):(\w+)", number, statement).encode()
    return Compiled(b"mailward_" + hashlib.sha256(text).hexdigest()[:32].encode(), text, tuple(numbers))


@cache
def _row_type(names: tuple[bytes, ...]) -> Any:
    row: Any = namedtuple("Row", [name.decode() for name in names])  # type: ignore[misc]
    return row._make


def _parameter(value: object) -> bytes | None:
    if value is None or type(value) is bytes:
        return value
    if type(value) is bool:
        return b"t" if value else b"f"
    if not isinstance(value, str | int | float):
        raise TypeError(f"no {type(value).__name__} can be sent")
    text = str(value).encode()
    if b"\0" in text:
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return text


def _received(pgconn: pq.abc.PGconn) -> Generator[Wait, Ready | int, list[Result]]:
    """Send what is still here, and read every result up to the end of the exchange."""
    while pgconn.flush():
        if (yield Wait.RW) & Ready.R:
            pgconn.consume_input()
    results: list[Result] = []
    ended = False  # the results of one statement
    while True:
        while pgconn.is_busy():
            if (yield Wait.R):
                pgconn.consume_input()
        result = pgconn.get_result()
        if result is None:
            if ended:
                raise psycopg.OperationalError("the server's answers broke off")
            ended = True
            continue
        ended = False
        if result.status == pq.ExecStatus.PIPELINE_SYNC:
            return results
        results.append(result)
