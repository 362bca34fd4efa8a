"""Proofs that are good for one event only, and which event showed each first."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table proof_token of core.tables."""
    op.create_table(
        "proof_token",
        sa.Column("token", sa.Text, primary_key=True),
        sa.Column("event_id", sa.Text, nullable=False, comment="the first event that showed it"),
        sa.Column("content", sa.Text, nullable=False, comment="digest of what that event says"),
        sa.Column("first_seen", sa.BigInteger, nullable=False),
        sa.Column("reused_at", sa.BigInteger, comment="when another event showed it; such a row is kept for good"),
    )
    once = sa.column("reused_at").is_(None)
    op.create_index(
        "ix_proof_token_first_seen", "proof_token", ["first_seen"], sqlite_where=once, postgresql_where=once
    )


def downgrade() -> None:
    """Drop the table; a proof that was used can then be used once more while its provider's window lasts."""
    op.drop_table("proof_token")
