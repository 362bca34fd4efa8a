"""Campaigns: what is sent to whom, how far it has come, and who decided what."""

import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, text

from core.errors import MailwardError
from core.ledger.rows import database_now, in_states
from core.ledger.states import HELD, Call
from core.ledger.tables import campaign, campaign_content, operator_action, send_call

STATUSES = ("pending", "reserved", "sent", "failed", "skipped")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # nothing that reads like something else

_KEEP_CONTENT = text("INSERT INTO campaign_content (digest, body) VALUES (:digest, :body) ON CONFLICT DO NOTHING")
# Members of unknown calls that nothing has settled yet; each call looks at its own range of the primary key.
# The condition on the state is that of its index, and CROSS JOIN is SQLite's way to say: the calls first.
_UNKNOWN = text("""SELECT count(*) FROM send_call AS c CROSS JOIN delivery_ledger AS d
WHERE c.campaign_id = :campaign AND c.state IN ('unknown')
AND d.campaign_id = c.campaign_id AND d.recipient_id BETWEEN c.first_id AND c.last_id AND d.call_id = c.id
AND d.status = 'reserved'""")


class Refused(MailwardError):
    """The campaign's state does not allow this, or something about it is missing; `text` says what."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A call that may still reach the provider after a pause."""

    call_id: int
    idempotency_key: str
    size: int


def create(
    connection: Connection, name: str, digest: str, body: str, audience: str, audience_filter: str = "",
    cloned_from: str = "",
) -> str:  # fmt: skip
    """A new campaign in `draft`; returns its id. `digest` and `body` are the content's (sender.content)."""
    now = database_now(connection)
    connection.execute(_KEEP_CONTENT, {"digest": digest, "body": body})
    campaign_id = "".join(secrets.choice(_ALPHABET) for _ in range(8))
    connection.execute(
        insert(campaign).values(
            id=campaign_id, name=name, state="draft", content_digest=digest, audience=audience,
            audience_filter=audience_filter, cloned_from=cloned_from, created_at=now,
        )
    )  # fmt: skip
    return campaign_id


def find(connection: Connection, campaign_id: str) -> Row[Any]:
    """The campaign's row; raises Refused("no_such_campaign")."""
    row = connection.execute(select(campaign).where(campaign.c.id == campaign_id)).first()
    if row is None:
        raise Refused("no_such_campaign", f"there is no campaign {campaign_id}")
    return row


def content_of(connection: Connection, digest: str) -> str:
    """The canonical JSON of a content."""
    return str(
        connection.execute(select(campaign_content.c.body).where(campaign_content.c.digest == digest)).scalar_one()
    )


def in_flight(connection: Connection, campaign_id: str) -> list[InFlight]:
    """The calls whose attempt has begun and has no recorded outcome."""
    of_campaign = (send_call.c.campaign_id == campaign_id) & in_states(HELD)
    query = select(send_call).where(of_campaign, send_call.c.state == Call.CALLING.value)
    return [
        InFlight(row.id, row.idempotency_key, row.size) for row in connection.execute(query.order_by(send_call.c.id))
    ]


def delivery_status(connection: Connection, campaign_id: str) -> dict[str, int]:
    """Counts that add up: total = sent + reserved + failed + skipped + remaining; unknown is part of reserved."""
    row = find(connection, campaign_id)
    return {
        "total": row.total,
        "sent": row.sent,
        "reserved": row.reserved,
        "failed": row.failed,
        "skipped": row.skipped,
        "remaining": row.pending,
        "unknown": int(connection.execute(_UNKNOWN, {"campaign": campaign_id}).scalar_one()),
    }


def note(connection: Connection, actor: str, action: str, subject: str, detail: str = "") -> None:
    """Write an operator's action into the audit, in the caller's transaction."""
    values = {"at": database_now(connection), "actor": actor, "action": action, "subject": subject, "detail": detail}
    connection.execute(insert(operator_action).values(values))
