"""Providers that sign nothing: a password of ours in a header is the whole proof, and the body is JSON.

What they share is here; the module of such a provider says what one item of a body means and how the webhook is set up.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from core.events import Kind
from providers import items, payload
from providers.base import Answers
from providers.composed import Composed
from providers.credentials import Credentials

PLAIN = Answers()


def composed(
    name: str,
    secrets: Sequence[str],
    read_item: items.Read,
    make_sample: Callable[[Kind, str, str, datetime], bytes],
    *,
    keep_local_case: bool,
    answers: Answers = PLAIN,
) -> Composed:
    """The provider `name` whose bodies are a JSON array of items, or a bare item.

    `secrets` are as in providers.credentials, which raises ValueError where there is none or an empty one; the other
    arguments are those of Composed.
    """
    read = partial(items.normalised, name, payload.read_list, read_item, keep_local_case)
    return Composed(name, Credentials(secrets), read, make_sample, answers)
