"""What the registry knows of a provider: how it is made, and what to tell about it. Each module exports one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from config.settings import Settings
from providers.base import Provider
from providers.rules import Table

Fetch = Callable[[str], bytes]
"""GET an https address that has been checked, without following redirects, bounded in time and size; the body
of a 200. Raises ProofUnavailable for everything else."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`setting` is the environment variable without which `make` returns None: then the provider's door does not exist.

    `title` is its name for people, `proof` its scheme in a few words, `setup` the lines (numbered steps, Markdown) that
    a user follows, and `tables` its classification tables by the name that their rules carry in front.
    """

    title: str
    setting: str
    proof: str
    make: Callable[[Settings, Fetch], Provider | None]
    setup: tuple[str, ...]
    tables: Mapping[str, Table]
