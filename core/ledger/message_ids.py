"""The provider's message ids in the ledger: PostgreSQL keeps a UUID in 16 bytes instead of 37, any other id as text.

Only what reads the same again is kept as a UUID: lower case, with hyphens.
"""

import re

from sqlalchemy import Connection, Label, Text, cast, func

from core.ledger.tables import delivery_ledger

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

READ = "coalesce(CAST(d.provider_message_uuid AS text), d.provider_message_id) AS provider_message_id"
"""The id of a delivery `d` as text, for a statement of PostgreSQL's."""


def column() -> Label[str]:
    """The same for a query of SQLAlchemy's, on both engines."""
    uuid = cast(delivery_ledger.c.provider_message_uuid, Text)
    return func.coalesce(uuid, delivery_ledger.c.provider_message_id).label("provider_message_id")


def is_uuid(message_id: str) -> bool:
    """Whether PostgreSQL may keep it as a UUID."""
    return _UUID.fullmatch(message_id) is not None


def stored(connection: Connection, message_id: str | None) -> tuple[str | None, str | None]:
    """What to store of an id: as text, and as a UUID."""
    if message_id and connection.dialect.name == "postgresql" and is_uuid(message_id):
        return None, message_id
    return message_id, None
