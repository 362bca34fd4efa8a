"""Slots: no more calls at once than allowed, and nobody waits for one when the process is to stop."""

import threading
import time

from sender.slots import Slots


def test_no_more_than_the_allowed_number_is_inside_at_once() -> None:
    slots, inside, most = Slots(2, lambda: False), 0, 0
    counting = threading.Lock()

    def call() -> None:
        nonlocal inside, most
        with slots.one() as taken:
            assert taken
            with counting:
                inside += 1
                most = max(most, inside)
            time.sleep(0.02)
            with counting:
                inside -= 1

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 2


def test_whoever_waits_gives_up_once_a_stop_is_asked_for() -> None:
    asked = threading.Event()
    slots = Slots(1, asked.is_set)
    with slots.one():
        threading.Timer(0.05, asked.set).start()
        with slots.one() as taken:
            assert not taken


def test_a_slot_is_free_again_after_a_call_that_raised() -> None:
    slots = Slots(1, lambda: False)
    try:
        with slots.one():
            raise RuntimeError("the provider's client has a bug")
    except RuntimeError:
        pass

    with slots.one() as taken:
        assert taken


def test_a_slot_that_was_not_taken_is_not_given_back() -> None:
    asked = threading.Event()
    slots = Slots(1, asked.is_set)
    with slots.one():
        asked.set()
        with slots.one() as second:
            assert not second
        asked.clear()
        threading.Timer(0.05, asked.set).start()
        with slots.one() as third:
            assert not third
