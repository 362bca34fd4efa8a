"""One recipient as an operator sees it: the records, the journal, and what keeps mail from the address."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from core import database, history
from core.addresses import Address
from core.history import Judgement
from core.recipients import Deletion, RecipientStore

ROUNDS = 3  # a record that changes between look and delete is looked at again


@dataclass(frozen=True, slots=True)
class View:
    """`records` has every Redis key that may belong to the address, with its value or None; lists are newest first."""

    address: Address
    records: dict[str, bytes | None]
    judgements: list[Judgement]
    blocks: list[Judgement]


def view(store: RecipientStore, engine: Engine, address: Address, clock: Callable[[], datetime]) -> View:
    """Everything known about `address`. Raises what the stores raise."""
    with database.reading(engine) as connection:
        judgements = history.of(connection, address.normal)
    keys = list(dict.fromkeys([*_keys(store, address), *(one.key for one in judgements)]))
    records = dict(zip(keys, store.read(keys), strict=True))
    return View(address, records, judgements, history.blocks(judgements, records.values(), clock()))


def delete(store: RecipientStore, address: Address) -> dict[str, bytes]:
    """Delete the records of `address` under its normal form and as written; returns what was there, by key.

    An operator's own deletion: no event stands behind it, so the journal has no part in it.
    """
    deleted: dict[str, bytes] = {}
    keys = _keys(store, address)
    for _ in range(ROUNDS):
        found = [(key, record) for key, record in zip(keys, store.read(keys), strict=True) if record is not None]
        results = store.delete_if_unchanged(found)
        deleted |= {key: record for (key, record), done in zip(found, results, strict=True) if done is Deletion.DELETED}
        if Deletion.CHANGED not in results:
            break
    return deleted


def _keys(store: RecipientStore, address: Address) -> list[str]:
    return list(dict.fromkeys([store.key(address.normal), store.key(address.verbatim)]))
