"""What the ledger costs: milliseconds for each call of 100 recipients, and bytes for each recipient that was sent to.

Counted are the three transactions of a call that succeeds: seal (with the journal's block check, compression and
hashes), begin (with the last check), settle; commits reach the disk. Not counted: rendering (up to the joined body),
Redis, HTTP, messages.
"""

import statistics
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import Engine, Row, insert, select, text

from bench.ledger_audience import MAIL
from core import database
from core.ledger import attempts, campaigns, sealing
from core.ledger.attempts import Result
from core.ledger.rows import SECOND
from core.ledger.sealing import Fragment, Request
from core.ledger.states import Call, Happening
from core.ledger.tables import send_call
from core.tables import journal
from sender.clients.resend import Resend
from sender.content import Content
from sender.render import Member, Renderer

ENV = "bench"
LEASE_US = 120 * SECOND
WARM_UP = 50  # calls that are made and not counted
REMOVED = 50_000  # other people's removals in the journal
TABLES = ("delivery_ledger", "send_call")

_SQLITE_BYTES = text("""SELECT sum(s.pgsize) FROM dbstat AS s JOIN sqlite_master AS m ON m.name = s.name
WHERE m.tbl_name IN ('delivery_ledger', 'send_call')""")
_POSTGRESQL_BYTES = text("SELECT pg_total_relation_size('delivery_ledger') + pg_total_relation_size('send_call')")


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians of one campaign; `bytes_per_sent` after VACUUM (PostgreSQL: VACUUM FULL), tables with their indexes."""

    ms_per_call: float
    seal_ms: float
    begin_ms: float
    settle_ms: float
    bytes_per_sent: float


class Caller:
    """Makes the calls of one campaign against a provider that accepts everything at once."""

    def __init__(self, engine: Engine, campaign_id: str) -> None:
        self._engine, self._campaign_id = engine, campaign_id
        self._client = Resend("re_bench", "http://127.0.0.1:9")
        self._joining_ms = 0.0
        self._renderer = Renderer(Content.from_mapping(MAIL), ENV, campaign_id, "")

    def calls(self) -> list[int]:
        """The planned calls, in order."""
        planned = (send_call.c.campaign_id == self._campaign_id) & (send_call.c.state == Call.PLANNED.value)
        with database.reading(self._engine) as connection:
            return list(connection.execute(select(send_call.c.id).where(planned).order_by(send_call.c.id)).scalars())

    def make(self, call_id: int, happening: Happening = Happening.ACCEPTED) -> tuple[float, float, float]:
        """Make one call to its end; returns the milliseconds of seal, begin and settle."""
        request = self._request(self._row(call_id))
        records = {one.member.address: None for one in request.fragments}
        ids = [str(uuid.uuid4()) for _ in records] if happening is Happening.ACCEPTED else []
        marks = [time.perf_counter()]
        with self._engine.begin() as connection:
            sealed = sealing.seal(connection, self._campaign_id, call_id, request)
        marks.append(time.perf_counter())
        assert sealed is not None
        with self._engine.begin() as connection:
            attempts.begin(connection, sealed, self._campaign_id, records, LEASE_US)
        marks.append(time.perf_counter())
        with self._engine.begin() as connection:
            attempts.settle(connection, self._campaign_id, call_id, sealed.epoch, Result(happening, ids, (), 200))
        marks.append(time.perf_counter())
        seal, begin, settle = ((after - before) * 1000 for before, after in pairwise(marks))
        return seal - self._joining_ms, begin, settle

    def _row(self, call_id: int) -> Row[tuple[object, ...]]:
        with database.reading(self._engine) as connection:
            return connection.execute(select(send_call).where(send_call.c.id == call_id)).one()

    def _request(self, call: Row[tuple[object, ...]]) -> Request:
        with database.reading(self._engine) as connection:
            members = sealing.candidates(connection, call, 100)
        mails = [self._renderer.render(Member.stored(*member)) for member in members]
        fragments = [Fragment(m, self._client.fragment(mail), None) for m, mail in zip(members, mails, strict=True)]
        return Request(fragments, {}, self._joined, ENV, self._client.account, "bench", LEASE_US)

    def _joined(self, fragments: list[bytes]) -> bytes:
        """The client's part of sealing, which is rendering: timed apart."""
        started = time.perf_counter()
        body = self._client.body(fragments)
        self._joining_ms = (time.perf_counter() - started) * 1000
        return body


def fill_journal(engine: Engine) -> None:
    """Removals of people who are not in the audience: what the block check has to look through."""
    common = {
        "provider": "resend", "kind": "complaint", "rule": "resend.complained", "detail": "", "occurred_at": 1,
        "received_at": 1, "outcome": "removed", "record": b"{}", "created_at": 1, "applied_at": 1,
    }  # fmt: skip
    rows = [
        {"event_id": f"e{n}", "redis_key": f"k{n}", "address": f"gone.{n:08}@example.com", **common}
        for n in range(REMOVED)
    ]
    with engine.begin() as connection:
        connection.execute(insert(journal), rows)


def measure(engine: Engine, campaign_id: str) -> Cost:
    """Send the whole campaign, then weigh the tables. `engine` holds nothing else but what `fill_journal` made."""
    caller = Caller(engine, campaign_id)
    took = [caller.make(call_id) for call_id in caller.calls()][WARM_UP:]
    with database.reading(engine) as connection:
        status = campaigns.delivery_status(connection, campaign_id)
    assert status["sent"] == status["total"], status
    seal, begin, settle = (statistics.median(one) for one in zip(*took, strict=True))
    return Cost(statistics.median(map(sum, took)), seal, begin, settle, _bytes(engine) / status["sent"])


def _bytes(engine: Engine) -> int:
    on_sqlite = engine.dialect.name == "sqlite"
    _run(engine, ["VACUUM"] if on_sqlite else [f"VACUUM FULL {table}" for table in TABLES])
    with database.reading(engine) as connection:
        return int(connection.execute(_SQLITE_BYTES if on_sqlite else _POSTGRESQL_BYTES).scalar_one())


def _run(engine: Engine, statements: Iterable[str]) -> None:
    """Run statements that take no transaction around them."""
    connection = engine.raw_connection()
    try:
        if engine.dialect.name == "postgresql":
            connection.driver_connection.autocommit = True  # type: ignore[union-attr]
        for statement in statements:
            connection.cursor().execute(statement)
    finally:
        connection.close()
