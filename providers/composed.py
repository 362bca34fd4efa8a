"""A provider put together from its parts: most are just a scheme of proof, a reader, samples and answer codes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from core.events import Kind
from providers.base import Answers, Normalised, Post, Request, Scheme


@dataclass(frozen=True, slots=True)
class Composed:
    """A Provider whose parts do not know each other.

    `read` is normalise, `make_sample` is sample, and `kept` names the headers (lower case) that `read` looks at.
    """

    name: str
    scheme: Scheme
    read: Callable[[Request], Normalised]
    make_sample: Callable[[Kind, str, str, datetime], bytes]
    answers: Answers = field(default_factory=Answers)
    kept: tuple[str, ...] = ()

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        return self.scheme.verify(request)

    def normalise(self, request: Request) -> Normalised:
        """See Provider.normalise."""
        return self.read(request)

    def kept_headers(self, request: Request) -> dict[str, str]:
        """See Provider.kept_headers."""
        return {name: request.headers[name] for name in self.kept if request.headers.get(name)}

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Provider.sign."""
        return self.scheme.sign(body, message_id, sent_at)

    def sample(self, kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
        """See Provider.sample."""
        return self.make_sample(kind, recipient, message_id, occurred_at)
