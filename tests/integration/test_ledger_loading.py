"""Loading an audience into a draft, on both engines."""

import json
from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import Engine, text

from core.ledger import campaigns, draft, lifecycle, loading, remaining
from core.ledger.campaigns import Refused
from core.ledger.draft import Entry
from core.ledger.loading import Loaded


def campaign(engine: Engine) -> str:
    with engine.begin() as connection:
        return campaigns.create(connection, "test", "digest", "{}", "upload")


def entry(number: int) -> Entry:
    return f"r{number * 7919 % 1_000_003:07}", f"reader{number}@example.com", "", json.dumps({"n": number})


def entries(count: int, size: int = 100) -> list[list[Entry]]:
    return [[entry(number) for number in range(at, min(at + size, count))] for at in range(0, count, size)]


def members(engine: Engine, campaign_id: str) -> dict[str, tuple[str, str | None, str | None]]:
    query = "SELECT recipient_id, address, verbatim, variables, status FROM delivery_ledger WHERE campaign_id = :c"
    with engine.begin() as connection:
        rows = connection.execute(text(query), {"c": campaign_id}).all()
    assert {row.status for row in rows} <= {"pending"}
    return {row.recipient_id: (row.address, row.verbatim, row.variables) for row in rows}


def stats(engine: Engine, campaign_id: str) -> dict[str, int]:
    with engine.begin() as connection:
        return campaigns.delivery_status(connection, campaign_id)


@pytest.fixture(params=[True, False], ids=["patient", "impatient"])
def patient(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_everybody_is_pending_and_counted(engine: Engine, patient: bool) -> None:
    one = campaign(engine)

    loaded = loading.load(engine, one, entries(250), patient=patient)

    assert loaded == Loaded(250, 0)
    assert members(engine, one) == {entry(n)[0]: (entry(n)[1], None, entry(n)[3]) for n in range(250)}
    assert (stats(engine, one)["total"], stats(engine, one)["remaining"]) == (250, 250)


def test_a_load_of_more_than_one_transaction_is_complete(engine: Engine) -> None:
    one = campaign(engine)

    loaded = loading.load(engine, one, entries(draft.SLICE + 1000, 5000))

    assert loaded == Loaded(draft.SLICE + 1000, 0)
    assert stats(engine, one)["total"] == draft.SLICE + 1000


def test_a_repeated_load_adds_nobody(engine: Engine, patient: bool) -> None:
    one = campaign(engine)
    loading.load(engine, one, entries(250), patient=patient)

    assert loading.load(engine, one, entries(250), patient=patient) == Loaded(0, 250)
    assert stats(engine, one)["total"] == 250


def test_a_load_that_broke_off_is_completed_by_its_repetition(engine: Engine, patient: bool) -> None:
    one = campaign(engine)

    def broken() -> Iterator[Sequence[Entry]]:
        yield from entries(250)[:2]
        raise ConnectionError

    with pytest.raises(ConnectionError):
        loading.load(engine, one, broken(), patient=patient)
    before = stats(engine, one)["total"]
    loaded = loading.load(engine, one, entries(250), patient=patient)

    assert before == (0 if patient else 200)
    assert loaded == Loaded(250 - before, before)
    assert len(members(engine, one)) == stats(engine, one)["total"] == 250


@pytest.mark.parametrize(
    "second",
    [("other", "ann@example.com", "ANN@example.com", "{}"), ("ann", "other@example.com", "", "{}")],
    ids=["the same address", "the same id"],
)
@pytest.mark.parametrize("together", [True, False], ids=["in one slice", "in two"])
def test_one_person_is_loaded_once(engine: Engine, patient: bool, second: Entry, together: bool) -> None:
    one = campaign(engine)
    first = ("ann", "ann@example.com", "", '{"first":1}')
    slices = [[first, second]] if together else [[first], [second]]

    loaded = loading.load(engine, one, slices, patient=patient)

    assert loaded == Loaded(1, 1)
    assert len(members(engine, one)) == stats(engine, one)["total"] == 1


def test_the_same_person_is_in_as_many_campaigns_as_one_likes(engine: Engine) -> None:
    one, other = campaign(engine), campaign(engine)

    assert loading.load(engine, one, entries(3)) == loading.load(engine, other, entries(3)) == Loaded(3, 0)


@pytest.mark.parametrize("text_", ["plain", 'q"\\\t', "Zoë 😀", "  ", "{}", "[1]", "null", "\\u0000"])
def test_texts_are_kept_as_they_are(engine: Engine, patient: bool, text_: str) -> None:
    one = campaign(engine)
    given = (f"id {text_}", f"{len(text_)}@example.com", f"V{text_}", json.dumps({"name": text_}, ensure_ascii=False))

    loading.load(engine, one, [[given]], patient=patient)

    assert members(engine, one) == {given[0]: given[1:]}


def test_an_impatient_load_shows_each_slice_as_it_comes(engine: Engine) -> None:
    one = campaign(engine)
    seen: list[int] = []

    def watching() -> Iterator[Sequence[Entry]]:
        for some in entries(300):
            seen.append(stats(engine, one)["total"])
            yield some

    loading.load(engine, one, watching(), patient=False)

    assert seen == [0, 100, 200]


def test_nobody_is_added_to_a_campaign_that_has_begun(engine: Engine, patient: bool) -> None:
    one = campaign(engine)
    loading.load(engine, one, entries(3))
    with engine.begin() as connection:
        lifecycle.start(connection, one, "tester")

    with pytest.raises(Refused, match="its audience is final"):
        loading.load(engine, one, [[entry(99)]], patient=patient)

    assert len(members(engine, one)) == 3


def test_a_start_in_the_middle_of_a_load_makes_the_audience_final(engine: Engine, patient: bool) -> None:
    one = campaign(engine)
    loading.load(engine, one, entries(3))

    def starting() -> Iterator[Sequence[Entry]]:
        with engine.begin() as connection:
            lifecycle.start(connection, one, "tester")
        yield [entry(99)]

    with pytest.raises(Refused, match="its audience is final"):
        loading.load(engine, one, starting(), patient=patient)

    assert len(members(engine, one)) == stats(engine, one)["total"] == 3


def test_there_must_be_a_campaign(engine: Engine) -> None:
    with pytest.raises(Refused, match="there is no campaign"):
        loading.load(engine, "none", entries(3))


def test_a_draft_can_be_emptied_and_filled_again(engine: Engine) -> None:
    one, other = campaign(engine), campaign(engine)
    loading.load(engine, one, entries(250))
    loading.load(engine, other, entries(3))

    assert draft.clear(engine, one) == 250
    assert (members(engine, one), stats(engine, one)["total"], stats(engine, other)["total"]) == ({}, 0, 3)
    assert loading.load(engine, one, entries(5)) == Loaded(5, 0)


def test_a_campaign_that_has_begun_is_not_emptied(engine: Engine) -> None:
    one = campaign(engine)
    loading.load(engine, one, entries(3))
    with engine.begin() as connection:
        lifecycle.start(connection, one, "tester")

    with pytest.raises(Refused):
        draft.clear(engine, one)

    assert len(members(engine, one)) == 3


def test_the_remaining_of_a_campaign_are_copied_with_their_fields(engine: Engine) -> None:
    one, other = campaign(engine), campaign(engine)
    loading.load(engine, one, entries(4))
    ids = sorted(members(engine, one))
    with engine.begin() as connection:
        for recipient_id, status in zip(ids, ["sent", "failed", "skipped", "reserved"], strict=True):
            values = {"status": status, "id": recipient_id}
            connection.execute(text("UPDATE delivery_ledger SET status = :status WHERE recipient_id = :id"), values)

    assert remaining.copy(engine, one, other, ["failed", "skipped"]) == 2
    with engine.begin() as connection:
        query = "SELECT recipient_id, variables, status FROM delivery_ledger WHERE campaign_id = :c ORDER BY 1"
        copied = [tuple(row) for row in connection.execute(text(query), {"c": other})]
    known = {entry(n)[0]: entry(n)[3] for n in range(4)}
    assert copied == [(one_id, known[one_id], "pending") for one_id in ids[1:3]]
    assert stats(engine, other)["total"] == 2
