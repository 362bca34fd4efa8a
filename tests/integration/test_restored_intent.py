"""A restore and a removal of one address that cross: the operator has the last word, and no bytes are lost."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from core import database, history
from core.clock import utc_now
from core.decide import Outcome
from core.journal import Entry, intend
from core.recipients import RecipientStore
from core.restore import _mark, restore
from tests.integration.test_recipients_cli import ADDRESS, apply, complaint, engine, store, stored

__all__ = ["engine", "store"]  # fixtures


@pytest.mark.parametrize("deleted", [True, False])
def test_an_intent_that_was_restored_before_its_redelivery_keeps_its_bytes(
    store: RecipientStore, engine: Engine, deleted: bool
) -> None:
    event = complaint(occurred_at=datetime.now(UTC) - timedelta(minutes=1))
    store.put(ADDRESS, b"old")
    with engine.begin() as connection:  # the consumer is killed after this, with or without the delete
        intend(connection, [Entry(event, store.key(ADDRESS), Outcome.REMOVED, b"old")], utc_now())
    if deleted:
        store.delete_if_unchanged([(store.key(ADDRESS), b"old")])
    _mark(engine, ADDRESS, utc_now(), None)  # a restore whose write to Redis failed

    apply(store, engine, event)

    assert stored(store) == (None if deleted else b"old")
    restore(store, engine, ADDRESS, force=False, clock=utc_now)
    assert stored(store) == b"old"
    with database.reading(engine) as connection:
        assert all(row.applied_at for row in history.of(connection, ADDRESS))
