"""The SQL tables of the event path; Alembic (core.migrations) creates the same.

Times are whole microseconds since the epoch, UTC: they sort, compare and round-trip alike on SQLite and PostgreSQL.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

metadata = MetaData()

# One row per (event, Redis key) of every hard bounce and complaint: written as an intent before anything is deleted,
# marked applied afterwards. It answers "why is this person gone?" and holds the bytes that `restore` puts back.
journal = Table(
    "journal",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("event_id", Text, nullable=False),
    Column("redis_key", Text, nullable=False),
    Column("address", Text, nullable=False, comment="normal form"),
    Column("provider", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("occurred_at", BigInteger, nullable=False),
    Column("received_at", BigInteger, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("record", LargeBinary, comment="the bytes that were deleted; null unless outcome is removed"),
    Column("created_at", BigInteger, nullable=False),
    Column("applied_at", BigInteger, comment="null while this row is only an intent"),
    Column("restored_at", BigInteger),
    UniqueConstraint("event_id", "redis_key"),
    CheckConstraint("outcome = 'removed' OR outcome = 'absent' OR outcome = 'stale'"),
    CheckConstraint("(record IS NULL) = (outcome <> 'removed')"),
)
Index("ix_journal_address", journal.c.address)
Index(
    "ix_journal_restored",
    journal.c.restored_at,
    sqlite_where=journal.c.restored_at.is_not(None),
    postgresql_where=journal.c.restored_at.is_not(None),
)

# One row per failed attempt, and per closing of a dead letter. Best effort: the dead-letter queue is the truth.
dead_letter_log = Table(
    "dead_letter_log",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("queue", Text, nullable=False, comment="the work queue, without lane"),
    Column("message_id", Text, nullable=False, comment="event id, or the body's hash where there is none"),
    Column("replay", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("failed_at", BigInteger, nullable=False),
    Column("error_type", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("stack", Text, nullable=False),
    Column("campaign_id", Text),
    Column("recipient", Text),
    Column("body", LargeBinary, comment="kept when the letter is discarded or dismissed"),
    Column("closed_at", BigInteger),
    Column("closed_as", Text, comment="replayed, discarded, dismissed or resolved"),
    Column("closed_reason", Text),
    UniqueConstraint("queue", "message_id", "replay", "attempt"),
)

# Counters of all processes meet here: one row per minute and series, so that a screen or an alert can add them up.
counts = Table(
    "counts",
    metadata,
    Column("minute", BigInteger, primary_key=True, comment="minutes since the epoch"),
    Column("name", Text, primary_key=True, comment="a member of core.telemetry.Series"),
    Column("provider", Text, primary_key=True),
    Column("label", Text, primary_key=True, comment="outcome, reason or kind; empty where the series has none"),
    Column("n", BigInteger, nullable=False),
)

# Which event showed a proof that is good for one event only (Event.single_use): whatever else shows it is not believed.
proof_token = Table(
    "proof_token",
    metadata,
    Column("token", Text, primary_key=True),
    Column("event_id", Text, nullable=False, comment="the first event that showed it"),
    Column("content", Text, nullable=False, comment="digest of what that event says"),
    Column("first_seen", BigInteger, nullable=False),
    Column("reused_at", BigInteger, comment="when another event showed it; such a row is kept for good"),
)
Index(
    "ix_proof_token_first_seen",
    proof_token.c.first_seen,
    sqlite_where=proof_token.c.reused_at.is_(None),
    postgresql_where=proof_token.c.reused_at.is_(None),
)


def to_us(moment: datetime) -> int:
    """Aware `moment` as microseconds since the epoch."""
    return (moment - EPOCH) // MICROSECOND


def from_us(value: int) -> datetime:
    """Microseconds since the epoch as an aware UTC datetime."""
    return EPOCH + timedelta(microseconds=value)
