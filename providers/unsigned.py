"""Providers that sign nothing: a password of ours in a header is the whole proof, and the body is JSON.

What they share is here; the module of such a provider says what one item of a body means and how the webhook is set up.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeAlias

from core.events import Kind
from providers import items, outcome, payload
from providers.base import Answers, Normalised, Request
from providers.composed import Composed
from providers.credentials import Credentials
from providers.items import Said

ReadItem: TypeAlias = Callable[[dict[str, object], datetime], Iterable[Said]]
"""What one item says, given when its body was received; raises payload.Unreadable as items.Read does."""

PLAIN = Answers()


def composed(
    name: str,
    secrets: Sequence[str],
    read_item: ReadItem,
    make_sample: Callable[[Kind, str, str, datetime], bytes],
    *,
    keep_local_case: bool,
    answers: Answers = PLAIN,
) -> Composed:
    """The provider `name` whose bodies are a JSON array of items, or a bare item.

    `secrets` are as in providers.credentials, which raises ValueError where there is none or an empty one; the other
    arguments are those of Composed.
    """
    return Composed(name, Credentials(secrets), partial(_read, name, read_item, keep_local_case), make_sample, answers)


def _read(name: str, read_item: ReadItem, keep_local_case: bool, request: Request) -> Normalised:
    try:
        found = payload.read_list(request.body)
    except payload.Unreadable as error:
        return outcome.parked(outcome.WHOLE_BODY, str(error))
    received_at = request.received_at
    return items.normalised(
        name, request, found, lambda item: read_item(item, received_at), keep_local_case=keep_local_case
    )
