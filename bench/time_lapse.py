"""Time that passes faster for the ledger: leases run out and retries fall due within seconds.

A lease that runs out under a worker that is alive and well is part of it: such a worker must do no harm either.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from config.settings import Settings
from core import database
from core.ledger.rows import SECOND

EVERY_S = 1.0
STEP_S = 15.0  # of the ledger's time, each time
_PASS = text("""UPDATE send_call SET due_at = due_at - :us, lease_until = lease_until - :us,
published_at = published_at - :us WHERE state IN ('planned', 'leased', 'calling', 'retry_wait')""")


@contextmanager
def running(settings: Settings, *, active: bool = True, step_s: float = STEP_S) -> Iterator[None]:
    """`step_s` seconds pass every EVERY_S for as long as the block runs, if `active`."""
    over = threading.Event()
    engine = database.create(settings.database_url, busy_timeout_s=10)

    def lapse() -> None:
        while not over.wait(EVERY_S):
            try:
                with engine.begin() as connection:
                    connection.execute(_PASS, {"us": int(step_s * SECOND)})
            except SQLAlchemyError:
                continue  # somebody else was busy for long: time stood still for a moment

    thread = threading.Thread(target=lapse, name="time-lapse", daemon=True)
    if active:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if active:
            thread.join()
        engine.dispose()
