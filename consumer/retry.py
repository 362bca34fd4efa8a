"""What a failure costs a message: the attempts, their pauses, and the end. Pure."""

from dataclasses import dataclass

from core.errors import Kind, Permanent


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay_s` seconds as attempt number `attempt`."""

    attempt: int
    delay_s: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """No further attempt: the message goes to the dead letters."""


def after_failure(kind: Kind, attempt: int, delays_s: tuple[int, ...]) -> Retry | DeadLetter:
    """What follows the failed attempt number `attempt` (from 1); there is one attempt more than there are delays."""
    if issubclass(kind, Permanent) or attempt > len(delays_s):
        return DeadLetter()
    return Retry(attempt + 1, delays_s[max(attempt, 1) - 1])


class Refusals:
    """Counts identical refusals of a store in a row: one refused message is its own failure, fifty are an outage."""

    LIMIT = 50

    def __init__(self) -> None:
        self._text, self._count = "", 0

    def add(self, error: BaseException) -> bool:
        """Note a refusal; True from the fiftieth identical one on."""
        # SQLAlchemy's text holds the statement and its values, which differ from message to message.
        text = f"{type(error).__name__}: {getattr(error, 'orig', None) or error}"
        self._count = self._count + 1 if text == self._text else 1
        self._text = text
        return self._count >= self.LIMIT

    def success(self) -> None:
        """Something went through: the store does take work."""
        self._text, self._count = "", 0
