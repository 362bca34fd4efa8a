"""What the doctor finds: one line each, with what is wrong and what to do."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is; FAIL means that something does not work, or that data may be lost."""

    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: `area` is what was looked at, `text` what was seen, `action` what to do about it."""

    level: Level
    area: str
    text: str
    action: str = ""

    def line(self) -> str:
        """The finding for the terminal."""
        return f"{self.level.value:<4}  {self.area}: {self.text}" + (f". {self.action}" if self.action else "")

    def as_dict(self) -> dict[str, str]:
        """The finding for --json."""
        return asdict(self) | {"level": self.level.value}


def ok(area: str, text: str) -> Finding:
    """Nothing to do."""
    return Finding(Level.OK, area, text)


def warn(area: str, text: str, action: str) -> Finding:
    """It works, but somebody should know."""
    return Finding(Level.WARN, area, text, action)


def fail(area: str, text: str, action: str) -> Finding:
    """It does not work, or loses something."""
    return Finding(Level.FAIL, area, text, action)


def failed(findings: Iterable[Finding]) -> bool:
    """Whether one of `findings` is a FAIL."""
    return any(one.level is Level.FAIL for one in findings)
