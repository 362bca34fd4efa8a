"""The state table of calls against one written by hand: every state, every happening, clean and tainted.

A cell names the state that follows and the fate of the members where it is not `keep`; `-` means that nothing follows.
After a dot: `t` taints the call, `h` only the holder of the lease may say so, `d` reveals a duplicate.
"""

from itertools import product

import pytest

from core.ledger.states import HELD, OPEN, SETTLED, Call, Happening, Members, Step, step

CLEAN = """
                   planned          leased               calling              retry_wait         unknown
sealed             leased/reserve   -                    -                    -                  -
empty              discarded        -                    -                    -                  -
begun              -                calling.h            -                    -                  -
blocked            -                discarded/pending.h  -                    -                  -
not_running        -                discarded/pending.h  -                    -                  -
reclaimed          -                leased               leased.t             leased             -
accepted           accepted/sent.d  accepted/sent        accepted/sent        accepted/sent      accepted/sent
not_sent           -                -                    discarded/pending.h  -                  -
ambiguous          -                -                    retry_wait.th        -                  -
running_elsewhere  -                -                    retry_wait.th        -                  -
key_taken          -                -                    unknown.h            -                  -
rejected           -                -                    rejected/split.h     -                  -
rejected_for_all   -                -                    discarded/pending.h  -                  -
window_passed      -                -                    unknown              unknown            -
account_changed    -                discarded/pending.h  unknown              unknown            -
bytes_changed      -                discarded/pending.h  unknown              unknown            -
cancelled          cancelled/skip   cancelled/skip       -                    unknown            -
proven             -                accepted/sent        accepted/sent        accepted/sent      accepted/sent
assumed_sent       -                -                    -                    accepted/sent      accepted/sent
resent             -                -                    -                    discarded/pending  discarded/pending
"""
# Once an attempt may have been accepted these rows differ: nothing but an operator releases its members.
TAINTED = """
sealed             -                -                    -                    -                  -
empty              -                -                    -                    -                  -
blocked            -                -                    -                    -                  -
not_running        -                retry_wait.h         -                    -                  -
not_sent           -                -                    retry_wait.h         -                  -
rejected           -                -                    unknown.h            -                  -
rejected_for_all   -                -                    unknown.h            -                  -
window_passed      -                unknown              unknown              unknown            -
account_changed    -                unknown.h            unknown              unknown            -
bytes_changed      -                unknown.h            unknown              unknown            -
cancelled          -                -                    -                    unknown            -
"""
# After the end only one thing can happen, and only if we were wrong about the end.
LATE_2XX = {
    "accepted": "-",
    "rejected": "accepted/sent.d",
    "discarded": "accepted/sent.d",
    "cancelled": "accepted/sent.d",
}


def rows_of(table: str) -> dict[str, list[str]]:
    return {cells[0]: cells[1:] for line in table.splitlines() if (cells := line.split()) and cells[0] != "planned"}


STATES = CLEAN.split()[:5]
ROWS = {False: rows_of(CLEAN), True: rows_of(CLEAN) | rows_of(TAINTED)}
EVERYTHING = list(product(Call, Happening, (False, True)))


def intended(state: Call, happening: Happening, tainted: bool) -> Step | None:
    if state.value in LATE_2XX:
        cell = LATE_2XX[state.value] if happening is Happening.ACCEPTED else "-"
    else:
        cell = ROWS[tainted][happening.value][STATES.index(state.value)]
    if cell == "-":
        return None
    what, _, marks = cell.partition(".")
    following, _, members = what.partition("/")
    return Step(Call(following), Members(members or "keep"), "t" in marks, "h" in marks, "d" in marks)


def test_the_table_written_by_hand_names_every_state_and_every_happening() -> None:
    assert {*STATES, *LATE_2XX} == {state.value for state in Call}
    for rows in ROWS.values():
        assert set(rows) == {happening.value for happening in Happening}
        assert {len(cells) for cells in rows.values()} == {len(STATES)}


@pytest.mark.parametrize(("state", "happening", "tainted"), EVERYTHING)
def test_what_follows_is_what_was_intended(state: Call, happening: Happening, tainted: bool) -> None:
    assert step(state, happening, tainted) == intended(state, happening, tainted)


@pytest.mark.parametrize(("state", "tainted"), list(product(Call, (False, True))))
def test_a_late_2xx_is_true_in_every_state_and_from_any_lease(state: Call, tainted: bool) -> None:
    late = step(state, Happening.ACCEPTED, tainted)

    if state is Call.ACCEPTED:
        assert late is None
    else:
        assert late is not None
        assert (late.state, late.members, late.needs_epoch) == (Call.ACCEPTED, Members.SENT, False)


@pytest.mark.parametrize("state", [*HELD, Call.UNKNOWN])
def test_members_of_a_tainted_call_are_released_by_an_operator_alone(state: Call) -> None:
    released = (Members.PENDING, Members.SPLIT, Members.SKIP)
    releasing = {one for one in Happening if (after := step(state, one, True)) and after.members in released}

    assert releasing <= {Happening.RESENT}


@pytest.mark.parametrize("tainted", [False, True])
def test_unknown_is_left_by_a_2xx_by_proof_or_by_an_operator(tainted: bool) -> None:
    leaving = {happening for happening in Happening if step(Call.UNKNOWN, happening, tainted) is not None}

    assert leaving == {Happening.ACCEPTED, Happening.PROVEN, Happening.ASSUMED_SENT, Happening.RESENT}


@pytest.mark.parametrize(("state", "tainted"), list(product(SETTLED, (False, True))))
def test_a_settled_call_is_changed_by_nothing_but_a_late_2xx(state: Call, tainted: bool) -> None:
    changing = {happening for happening in Happening if step(state, happening, tainted) is not None}

    assert changing <= {Happening.ACCEPTED}


@pytest.mark.parametrize("tainted", [False, True])
def test_only_the_holder_of_the_lease_may_bring_bad_news_of_an_attempt(tainted: bool) -> None:
    answers = {
        Happening.NOT_SENT, Happening.AMBIGUOUS, Happening.RUNNING_ELSEWHERE, Happening.KEY_TAKEN, Happening.REJECTED,
        Happening.REJECTED_FOR_ALL,
    }  # fmt: skip
    steps = {(state, one): step(state, one, tainted) for state, one in product(Call, answers)}

    followed = {at: following.needs_epoch for at, following in steps.items() if following is not None}
    assert followed == {(Call.CALLING, one): True for one in answers}


@pytest.mark.parametrize("tainted", [False, True])
def test_every_open_call_has_a_way_to_its_end_without_an_operator(tainted: bool) -> None:
    without_operator = [one for one in Happening if one not in (Happening.ASSUMED_SENT, Happening.RESENT)]
    for state in OPEN if not tainted else HELD:
        reached, frontier = set(), {(state, tainted)}
        while frontier:
            reached |= frontier
            following = [
                (after.state, taint or after.taints)
                for (before, taint), happening in product(frontier, without_operator)
                if happening is not Happening.ACCEPTED and (after := step(before, happening, taint)) is not None
            ]
            frontier = set(following) - reached
        assert {at for at, _ in reached} & {*SETTLED, Call.UNKNOWN}


def test_every_state_is_open_settled_or_unknown() -> None:
    assert sorted((*OPEN, *SETTLED, Call.UNKNOWN)) == sorted(Call)
