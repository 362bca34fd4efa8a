"""Work on one thing while the next is being made: an iterable that runs ahead of its reader in a thread."""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

_END = object()


def ahead(source: Iterable[T], most: int) -> Generator[T, None, None]:
    """The elements of `source`, in order; up to `most` of them are made while the reader is busy with another.

    What `source` raises is raised here, after the elements before it.
    """
    elements = iter(source)
    producer = ThreadPoolExecutor(1, thread_name_prefix="ahead")
    try:
        made = deque(producer.submit(next, elements, _END) for _ in range(most))
        while (one := made.popleft().result()) is not _END:
            made.append(producer.submit(next, elements, _END))
            yield one  # type: ignore[misc]  # not the end, hence an element
    finally:
        producer.shutdown(cancel_futures=True)
