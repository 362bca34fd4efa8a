"""An iterable that runs ahead of its reader."""

import threading
from collections.abc import Iterator

import pytest

from core.ahead import ahead


def test_everything_arrives_in_order() -> None:
    assert list(ahead(range(1000), 3)) == list(range(1000))


def test_an_error_arrives_after_what_came_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    reader = ahead(broken(), 4)

    assert next(reader) == 1
    with pytest.raises(ValueError, match="broken"):
        next(reader)


def test_the_next_is_made_while_the_reader_is_busy() -> None:
    made = threading.Event()

    def source() -> Iterator[int]:
        yield 1
        made.set()
        yield 2

    reader = ahead(source(), 2)
    next(reader)

    assert made.wait(5)
    reader.close()


def test_no_more_is_made_than_may_wait() -> None:
    made: list[int] = []

    def source() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    reader = ahead(source(), 3)
    next(reader)
    reader.close()

    assert len(made) <= 4


def test_a_reader_who_stops_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    reader = ahead(range(100), 3)
    next(reader)

    reader.close()

    assert threading.active_count() == before
