"""How the sandbox says no: the shape of Resend's errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Refusal(Exception):
    """An answer that is no success: status, Resend's name for it, a text, and headers of its own."""

    status: int
    name: str
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, object]:
        """The body, as an object."""
        return {"statusCode": self.status, "name": self.name, "message": self.message}
