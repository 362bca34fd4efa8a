"""Give a new draft the members whom another campaign did not mail."""

from collections.abc import Sequence

from sqlalchemy import BindParameter, Engine, bindparam, text

from core.ledger import draft
from core.ledger.draft import SLICE

_STATUSES: BindParameter[str] = bindparam("statuses", expanding=True)
_CUT = text("""SELECT max(recipient_id) FROM (SELECT recipient_id FROM delivery_ledger
WHERE campaign_id = :source AND recipient_id > :after AND status IN :statuses
ORDER BY recipient_id LIMIT :slice) AS lowest""").bindparams(_STATUSES)
_COPY = text("""INSERT INTO delivery_ledger
  (campaign_id, recipient_id, address, status, verbatim, variables, created_at, updated_at)
SELECT :campaign, recipient_id, address, 'pending', verbatim, variables, :now, :now FROM delivery_ledger
WHERE campaign_id = :source AND recipient_id > :after AND recipient_id <= :last AND status IN :statuses
ON CONFLICT DO NOTHING""").bindparams(_STATUSES)


def copy(engine: Engine, source: str, campaign_id: str, statuses: Sequence[str]) -> int:
    """Add the members of `source` that have one of `statuses` to the draft `campaign_id`; returns how many."""
    copied, after = 0, ""
    while True:
        with engine.begin() as connection:
            values = {"source": source, "after": after, "statuses": list(statuses)}
            last = connection.execute(_CUT, values | {"slice": SLICE}).scalar()
            if last is None:
                return copied
            copied += draft.add(connection, campaign_id, _COPY, **values, last=last)
            after = last
