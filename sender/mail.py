"""One mail to one recipient, ready to be written into a provider's request. Frozen: the same bytes every time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mail:
    """A rendered mail. `to` is a bare address; `tags` are names and values of [A-Za-z0-9_-] only, never addresses."""

    sender: str
    to: str
    subject: str
    html: str
    text: str
    reply_to: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
