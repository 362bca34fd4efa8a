"""The event path: journal, dead-letter log, counters."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the three tables of core.tables."""
    _journal()
    op.create_table(
        "dead_letter_log",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("queue", sa.Text, nullable=False, comment="the work queue, without lane"),
        sa.Column("message_id", sa.Text, nullable=False, comment="event id, or the body's hash where there is none"),
        sa.Column("replay", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("failed_at", sa.BigInteger, nullable=False),
        sa.Column("error_type", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("stack", sa.Text, nullable=False),
        sa.Column("campaign_id", sa.Text),
        sa.Column("recipient", sa.Text),
        sa.Column("body", sa.LargeBinary, comment="kept when the letter is discarded or dismissed"),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("closed_as", sa.Text, comment="replayed, discarded, dismissed or resolved"),
        sa.Column("closed_reason", sa.Text),
        sa.UniqueConstraint("queue", "message_id", "replay", "attempt"),
    )
    op.create_table(
        "counts",
        sa.Column("minute", sa.BigInteger, primary_key=True, comment="minutes since the epoch"),
        sa.Column("name", sa.Text, primary_key=True, comment="a member of core.telemetry.Series"),
        sa.Column("provider", sa.Text, primary_key=True),
        sa.Column(
            "label", sa.Text, primary_key=True, comment="outcome, reason or kind; empty where the series has none"
        ),
        sa.Column("n", sa.BigInteger, nullable=False),
    )


def _journal() -> None:
    op.create_table(
        "journal",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("event_id", sa.Text, nullable=False),
        sa.Column("redis_key", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False, comment="normal form"),
        sa.Column("provider", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("occurred_at", sa.BigInteger, nullable=False),
        sa.Column("received_at", sa.BigInteger, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("record", sa.LargeBinary, comment="the bytes that were deleted; null unless outcome is removed"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("applied_at", sa.BigInteger, comment="null while this row is only an intent"),
        sa.Column("restored_at", sa.BigInteger),
        sa.UniqueConstraint("event_id", "redis_key"),
        sa.CheckConstraint("outcome = 'removed' OR outcome = 'absent' OR outcome = 'stale'"),
        sa.CheckConstraint("(record IS NULL) = (outcome <> 'removed')"),
    )
    op.create_index("ix_journal_address", "journal", ["address"])
    restored = sa.column("restored_at").is_not(None)
    op.create_index("ix_journal_restored", "journal", ["restored_at"], sqlite_where=restored, postgresql_where=restored)


def downgrade() -> None:
    """Drop everything; the journal's history goes with it."""
    for table in ("counts", "dead_letter_log", "journal"):
        op.drop_table(table)
