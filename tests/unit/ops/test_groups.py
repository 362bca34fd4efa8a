"""Letters grouped by lane and reason."""

from datetime import timedelta

from core.parked import ParkedReason
from ops.groups import SAMPLE, grouped
from ops.letters import Lane
from tests.unit.ops.letter_samples import NOON, died, letter, parked_letter


def test_letters_with_the_same_reason_make_one_group_with_its_ages_and_replays() -> None:
    later = NOON + timedelta(hours=1)
    letters = [
        letter(headers=died("rejected")),
        letter(headers=died("rejected", later) | {"replays": 2}),
        letter(headers={"last_error": "another"}),
    ]

    first, second = grouped(letters)

    assert (first.count, first.replayed, first.oldest, first.newest) == (2, 1, NOON, later)
    assert (second.reason, second.count, second.oldest) == ("another", 1, None)


def test_groups_come_lane_by_lane_the_largest_first() -> None:
    parked = parked_letter(b"x", ParkedReason(0, "odd"))
    many = [letter(headers={"last_error": "often"})] * 2
    groups = grouped([parked, letter(headers=died("delivery_limit")), letter(headers={"last_error": "once"}), *many])

    assert [(group.lane, group.count) for group in groups] == [
        (Lane.FAILED, 2),
        (Lane.FAILED, 1),
        (Lane.CRASH_LOOP, 1),
        (Lane.PARKED, 1),
    ]


def test_only_a_sample_of_ids_is_kept_unless_all_are_asked_for() -> None:
    letters = [letter(message_id=f"made-up:{number}") for number in range(10)]

    assert len(grouped(letters)[0].ids) == SAMPLE
    assert len(grouped(letters, ids_limit=None)[0].ids) == 10
