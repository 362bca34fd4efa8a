"""Which letters are meant."""

import pytest

from ops.letters import Lane
from ops.selection import NoSuchLetter, Selection, unabbreviated
from tests.unit.ops.letter_samples import letter

EVERY = frozenset(Lane)
IDS = ["resend:msg_1", "resend:msg_10", "cloudflare:abc"]


def test_an_id_may_be_abbreviated_while_it_stays_unique() -> None:
    assert unabbreviated(["cloud", "resend:msg_10"], IDS) == ("cloudflare:abc", "resend:msg_10")


def test_a_whole_id_is_meant_even_where_it_begins_another() -> None:
    assert unabbreviated(["resend:msg_1"], IDS) == ("resend:msg_1",)


def test_letters_of_one_id_are_one_id() -> None:
    assert unabbreviated(["resend"], ["resend:msg_1", "resend:msg_1"]) == ("resend:msg_1",)


@pytest.mark.parametrize(("prefix", "code"), [("resend", "ambiguous"), ("x", "no_such_letter"), ("", "ambiguous")])
def test_an_id_of_none_or_several_is_refused(prefix: str, code: str) -> None:
    with pytest.raises(NoSuchLetter) as refusal:
        unabbreviated([prefix], IDS)

    assert refusal.value.code == code


def test_letters_are_chosen_by_lane_id_and_part_of_their_reason() -> None:
    one = letter(headers={"last_error": "WrongType: a hash"})

    assert Selection(EVERY).takes(one)
    assert not Selection(frozenset({Lane.PARKED})).takes(one)
    assert Selection(EVERY, ids=("made-up:1",)).takes(one)
    assert not Selection(EVERY, ids=("made-up:",)).takes(one)
    assert Selection(EVERY, reason="wrongtype").takes(one)
    assert not Selection(EVERY, reason="timeout").takes(one)
