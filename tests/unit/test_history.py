"""What blocks an address, and which removals a restore undoes: decided over journal rows alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.decide import Outcome
from core.history import Judgement, blocks, removals_to_undo

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def judgement(id: int = 1, outcome: Outcome = Outcome.REMOVED, **fields: Any) -> Judgement:
    values: dict[str, Any] = {
        "event_id": f"resend:{id}",
        "key": "recipient:a@example.com",
        "provider": "resend",
        "kind": "complaint",
        "rule": "resend.complained",
        "detail": "",
        "occurred_at": NOW - DAY,
        "record": b"{}" if outcome is Outcome.REMOVED else None,
        "created_at": NOW - DAY,
        "applied_at": NOW - DAY,
        "restored_at": None,
    }
    return Judgement(id=id, outcome=outcome, **values | fields)


def fenced(since: datetime) -> bytes:
    return f'{{"eligible_since":"{since.isoformat()}"}}'.encode()


@pytest.mark.parametrize(
    ("row", "record", "blocked"),
    [
        (judgement(), None, True),
        (judgement(), b"{}", True),
        (judgement(), b"active", True),
        (judgement(outcome=Outcome.ABSENT), None, True),
        (judgement(outcome=Outcome.ABSENT), b"{}", True),
        (judgement(outcome=Outcome.STALE), None, False),
        (judgement(outcome=Outcome.STALE, applied_at=None), b"{}", False),
        (judgement(applied_at=None), b"{}", True),
        (judgement(restored_at=NOW), b"{}", False),
        (judgement(restored_at=NOW), None, False),
        (judgement(), fenced(NOW), False),
        (judgement(), fenced(NOW - DAY), True),  # as old as the event: equality is not newer
        (judgement(), fenced(NOW - 2 * DAY), True),
        (judgement(), fenced(NOW + DAY), True),  # consent in the future counts as absent
    ],
)
def test_a_row_blocks_unless_it_is_stale_restored_or_older_than_the_consent(
    row: Judgement, record: bytes | None, blocked: bool
) -> None:
    assert blocks([row], [record], NOW) == ([row] if blocked else [])


def test_the_newest_consent_among_an_addresss_records_counts() -> None:
    assert blocks([judgement()], [b"{}", fenced(NOW), None], NOW) == []


def test_the_newest_removal_of_each_key_is_undone() -> None:
    newest, older = judgement(3), judgement(1)
    other = judgement(2, key="recipient:A@example.com")
    absent = judgement(4, Outcome.ABSENT)

    assert removals_to_undo([absent, newest, other, older]) == [newest, other]


def test_a_removal_that_an_earlier_restore_has_undone_stays_undone() -> None:
    fresh = judgement(2)
    done = judgement(1, key="recipient:A@example.com", restored_at=NOW - DAY)

    assert removals_to_undo([fresh, done]) == [fresh]


def test_without_an_open_removal_the_latest_restore_is_repeated() -> None:
    last = judgement(2, restored_at=NOW)
    before = judgement(1, key="recipient:A@example.com", restored_at=NOW - DAY)

    assert removals_to_undo([judgement(3, Outcome.ABSENT), last, before]) == [last]


def test_where_nothing_was_removed_nothing_is_undone() -> None:
    assert removals_to_undo([judgement(1, Outcome.ABSENT), judgement(2, Outcome.STALE)]) == []
