"""A block of which nothing escapes, for the few places where one message's trouble must not become its neighbours'."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Attempt(Generic[T]):
    """A block that always ends with an answer: its own, or what `failed` makes of the exception that ended it."""

    answer: T

    def __init__(self, failed: Callable[[Exception], T]) -> None:
        self._failed = failed

    def __enter__(self) -> "Attempt[T]":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if isinstance(error, Exception):
            self.answer = self._failed(error)
            return True
        return False  # what ends a process or a greenlet is not ours to answer
