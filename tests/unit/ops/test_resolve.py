"""How an operator completes a parked item that names nobody."""

import pytest

from core import parked, wire
from core.addresses import normalise
from core.parked import ParkedReason
from core.topology import Topology
from ops.letters import Letter
from ops.resolve import Resolve
from ops.settlement import Leave, Settle, Step
from tests.unit.ops.letter_samples import WordsProvider, parked_letter

READER = normalise("Reader@EXAMPLE.com")


def resolved(letter: Letter, *recipients: str, index: int | None = None) -> Step:
    to = tuple(normalise(one) for one in recipients) or (READER,)
    return Resolve(Topology(), {"made-up": WordsProvider()}, to, index)(letter)


def test_the_event_is_published_with_the_given_recipient_and_the_body_is_kept() -> None:
    step = resolved(parked_letter(b"?", ParkedReason(0, "names nobody")))

    assert isinstance(step, Settle)
    (message,) = step.messages
    event = wire.decode(message.body)
    assert (event.recipient, event.recipient_verbatim) == (READER.normal, READER.verbatim)
    assert event.event_id == message.message_id == f"made-up:0:{READER.normal}"
    assert (step.keeps, step.closed_as, step.why) == (True, "resolved", f"item 0 is about {READER.normal}")


def test_several_recipients_get_an_event_each_with_ids_of_their_own() -> None:
    step = resolved(parked_letter(b"?", ParkedReason(0, "names nobody")), "a@example.com", "b@example.com")

    assert isinstance(step, Settle)
    assert [one.message_id for one in step.messages] == ["made-up:0:a@example.com", "made-up:0:b@example.com"]


def test_the_other_items_stay_parked() -> None:
    step = resolved(parked_letter(b"? odd", ParkedReason(0, "names nobody"), ParkedReason(1, "odd")))

    assert isinstance(step, Settle)
    assert [item.index for item in parked.decode(step.messages[-1].body).items] == [1]


def test_of_several_items_that_name_nobody_one_must_be_chosen() -> None:
    two = parked_letter(b"? ?", ParkedReason(0, "names nobody"), ParkedReason(1, "names nobody"))

    undecided, chosen = resolved(two), resolved(two, index=1)

    assert isinstance(undecided, Leave)
    assert "--index, of 0, 1" in undecided.reason
    assert isinstance(chosen, Settle)
    assert wire.decode(chosen.messages[0].body).event_id.startswith("made-up:1:")


@pytest.mark.parametrize(
    ("body", "index"),
    [(b"odd", None), (b"odd", 0), (b"? odd", 1), (b"!", None), (b"a@example.com ?", 0)],
)
def test_an_item_that_does_not_lack_its_recipient_alone_cannot_be_resolved(body: bytes, index: int | None) -> None:
    items = [ParkedReason(0, "odd"), ParkedReason(1, "odd")]

    assert isinstance(resolved(parked_letter(body, *items), index=index), Leave)


def test_an_item_that_was_not_parked_cannot_be_resolved() -> None:
    assert isinstance(resolved(parked_letter(b"? odd", ParkedReason(1, "odd")), index=0), Leave)
