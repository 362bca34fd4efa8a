"""Provider message ids that are UUIDs, as most are, in 16 bytes instead of 37: on PostgreSQL, which has the type."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what is stored as text stays text."""
    comment = "provider_message_id where it is a UUID, on PostgreSQL"
    op.add_column("delivery_ledger", sa.Column("provider_message_uuid", sa.Uuid(), comment=comment))


def downgrade() -> None:
    """Write the ids as text again, and drop the column."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "UPDATE delivery_ledger SET provider_message_id = CAST(provider_message_uuid AS text)"
            " WHERE provider_message_uuid IS NOT NULL"
        )
    op.drop_column("delivery_ledger", "provider_message_uuid")
