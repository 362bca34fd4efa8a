"""Which batch an ack, a nack and a return belong to, without a broker."""

from core.confirms import Batch, Unconfirmed, Wait
from core.errors import Outage
from core.messages import Outgoing


def batch(*ids: str, timeout_s: float = 5.0) -> Batch:
    return Batch([Outgoing("exchange", "key", b"body", one) for one in ids], timeout_s)


def sent(unconfirmed: Unconfirmed, *batches: Batch) -> None:
    for one in batches:
        for message in one.messages:
            unconfirmed.add(len(unconfirmed) + 1, one, message.message_id)


def confirm(unconfirmed: Unconfirmed, tag: int, multiple: bool = False) -> None:
    for one in unconfirmed.settle(tag, multiple):
        one.confirm_one()


def test_a_batch_is_done_with_its_last_confirm_only() -> None:
    unconfirmed, one = Unconfirmed(), batch("a", "b", "c")
    sent(unconfirmed, one)

    confirm(unconfirmed, 2)
    confirm(unconfirmed, 1)
    assert not one.settled
    confirm(unconfirmed, 3)

    assert (one.settled, one.error, len(unconfirmed)) == (True, None, 0)


def test_a_multiple_ack_settles_everything_up_to_its_tag_and_nothing_behind_it() -> None:
    unconfirmed, first, second, third = Unconfirmed(), batch("a", "b"), batch("c"), batch("d")
    sent(unconfirmed, first, second, third)

    confirm(unconfirmed, 2)
    confirm(unconfirmed, 3, multiple=True)

    assert [first.settled, second.settled, third.settled] == [True, True, False]
    assert len(unconfirmed) == 1


def test_an_unknown_tag_settles_nothing() -> None:
    unconfirmed, one = Unconfirmed(), batch("a")
    sent(unconfirmed, one)

    confirm(unconfirmed, 7)

    assert (one.settled, len(unconfirmed)) == (False, 1)


def test_a_message_that_is_in_flight_twice_belongs_to_both_batches() -> None:
    unconfirmed, first, second = Unconfirmed(), batch("same"), batch("same", "other")
    sent(unconfirmed, first, second)
    assert unconfirmed.with_message("same") == (first, second)

    confirm(unconfirmed, 1)

    assert unconfirmed.with_message("same") == (second,)
    assert unconfirmed.with_message("gone") == ()


def test_clearing_returns_each_open_batch_once_in_the_order_of_sending() -> None:
    unconfirmed, first, failed, last = Unconfirmed(), batch("a", "b"), batch("c"), batch("d", "e")
    sent(unconfirmed, first, failed, last)
    failed.settle(Outage("unroutable"))

    assert unconfirmed.clear() == [first, last]
    assert (len(unconfirmed), unconfirmed.with_message("a")) == (0, ())


def test_a_batch_that_starts_over_awaits_all_its_confirms_again() -> None:
    one = batch("a", "b")
    one.confirm_one()

    one.start_over()
    one.confirm_one()
    assert not one.settled
    one.confirm_one()

    assert one.settled


def test_only_the_first_fate_counts() -> None:
    one = batch("a")

    one.settle(Outage("refused"))
    one.confirm_one()
    one.settle(Outage("blocked"))

    assert one.error is not None
    assert one.error.code == "refused"
    assert one.wait()


def test_a_wait_ends_at_its_deadline() -> None:
    one = Wait(0.01)

    assert (one.wait(), one.settled, one.open) == (False, False, False)
