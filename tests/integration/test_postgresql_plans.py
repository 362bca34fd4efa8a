"""What PostgreSQL does for one call must depend on the call, not on how large the ledger is or was."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from core import database
from core.clock import utc_now
from core.ledger import draft, loading
from core.ledger.draft import Entry
from core.tables import journal, to_us
from sender.campaign import Campaigns
from tests.sending import World

pytestmark = pytest.mark.parametrize("engine", ["postgresql"], indirect=True)

SMALL, LARGE = 3, 20_000
ENTRIES: list[Entry] = [(f"u{n:06}", f"late{n}@example.org", "", '{"name": "Reader"}') for n in range(LARGE)]
WARM = 10  # calls: psycopg prepares what it has met five times, and PostgreSQL keeps a plan after five more
ROWS = text("""SELECT relname, seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables
WHERE relname IN ('delivery_ledger', 'send_call', 'journal', 'campaign')""")


@pytest.fixture
def own_world(world: World, engine: Engine) -> Iterator[World]:
    """A worker whose connections nobody has used before, on tables without statistics."""
    own = database.create(engine.url.render_as_string(hide_password=False))
    yield World(own, world.redis, world.env)
    own.dispose()


def read_so_far(engine: Engine) -> dict[str, tuple[int, int]]:
    """How many rows each table has given out: whole reads, and those by an index."""
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
    with engine.begin() as connection:
        return {row.relname: (row.seq_tup_read, row.idx_tup_fetch or 0) for row in connection.execute(ROWS)}


def grow(engine: Engine, campaign: str) -> None:
    """A large audience, and a journal of as many other people's removals."""
    assert loading.load(engine, campaign, [ENTRIES]).added == LARGE
    common = {
        "provider": "resend", "kind": "complaint", "rule": "r", "detail": "", "occurred_at": 1, "received_at": 1,
        "outcome": "removed", "record": b"{}", "created_at": to_us(utc_now()), "applied_at": 1,
    }  # fmt: skip
    rows = [
        common | {"event_id": f"e{n}", "redis_key": f"k{n}", "address": f"gone{n}@example.org"} for n in range(LARGE)
    ]
    with engine.begin() as connection:
        connection.execute(journal.insert(), rows)


def swell(world: World) -> None:
    """Leave behind a primary key that is large and empty, as years of campaigns may: it looks costly to the planner."""
    campaign = world.campaign(SMALL, start=False)
    entries: list[Entry] = [(f"{n:05}".ljust(190, "x"), f"gone{n}@example.org", "", "{}") for n in range(LARGE)]
    loading.load(world.engine, campaign, [entries])
    draft.clear(world.engine, campaign)
    with world.engine.begin() as connection:
        connection.execute(text("ANALYZE"))


def test_plans_made_while_the_tables_were_small_stay_right_when_they_have_grown(own_world: World) -> None:
    for _ in range(WARM):
        own_world.campaign(SMALL)
    swell(own_world)
    for _ in range(WARM):
        assert own_world.move(own_world.campaign(SMALL)) == ["accepted"]
    large = own_world.campaign(SMALL, start=False)
    grow(own_world.engine, large)
    Campaigns(own_world.engine, own_world.store, own_world.env, "", False, True).start(large, "tester")
    before = read_so_far(own_world.engine)

    calls = own_world.call_ids(large)[:5]
    results = [own_world.work.apply([own_world.message(large, call)]) for call in calls]

    assert results == [{"accepted": 1}] * 5
    after = read_so_far(own_world.engine)
    whole = {name: after[name][0] - before[name][0] for name in after}
    found = {name: (after[name][1] - before[name][1]) / len(calls) for name in after}
    assert whole == dict.fromkeys(after, 0), "a table was read whole"
    assert found["delivery_ledger"] < 15 * 100, found
    assert sum(found.values()) < 20 * 100, found


def test_the_members_of_a_call_are_spread_over_the_pages_of_the_table(world: World) -> None:
    """Neighbours in a page would leave each other no room for the next version of a row, and every update would have to
    write to both indexes."""
    campaign = world.campaign(SMALL, start=False)

    loading.load(world.engine, campaign, [ENTRIES])

    pages = """SELECT count(DISTINCT (CAST(CAST(ctid AS text) AS point))[0]) AS n FROM delivery_ledger
    WHERE campaign_id = :c AND recipient_id BETWEEN 'u005000' AND 'u005099'"""
    assert world.rows(pages, c=campaign)[0].n > 50
