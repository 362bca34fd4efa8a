"""The delivery ledger: campaigns, deliveries, provider calls, operator actions, heartbeats, alerts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ORDERED = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_OPEN = sa.text("state IN ('planned', 'leased', 'calling', 'retry_wait')")
_HELD = sa.text("state IN ('leased', 'calling', 'retry_wait')")
_UNKNOWN = sa.text("state IN ('unknown')")


def upgrade() -> None:
    """Create the tables of core.ledger.tables."""
    _campaigns()
    _deliveries()
    _calls()
    _watching()


def downgrade() -> None:
    """Drop everything; the record of what was sent goes with it."""
    for table in (
        "alert_state", "heartbeat", "operator_action", "send_call", "delivery_ledger", "campaign", "campaign_content",
        "ledger_identity",
    ):  # fmt: skip
        op.drop_table(table)


def _campaigns() -> None:
    op.create_table(
        "ledger_identity",
        sa.Column("one", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("ledger_id", sa.Text(), nullable=False),
        sa.Column("seals", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("one"),
        sa.CheckConstraint("one = 1", name="only_one_ledger"),
    )
    op.create_table(
        "campaign_content",
        sa.Column("digest", sa.Text(), nullable=False, comment="SHA-256 of body; a row never changes"),
        sa.Column("body", sa.Text(), nullable=False, comment="canonical JSON of sender.content.Content"),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_table(
        "campaign",
        sa.Column(
            "id", sa.Text(), nullable=False, comment="random, so that no other ledger makes the same idempotency keys"
        ),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column(
            "state",
            sa.Text(),
            nullable=False,
            comment="draft, running, paused, completed, completed_with_issues, cancelled",
        ),
        sa.Column("pause_reason", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("audience", sa.Text(), nullable=False, comment="upload, or store: every eligible recipient record"),
        sa.Column("audience_filter", sa.Text(), nullable=False, comment="field=value of the records' JSON"),
        sa.Column("cloned_from", sa.Text(), nullable=False, comment="the campaign whose remaining members these are"),
        sa.Column("accept_missing", sa.Boolean(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("pending", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        sa.Column("sent", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("skipped", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger()),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("progress_at", sa.BigInteger(), comment="when a delivery last changed"),
        sa.CheckConstraint("total = pending + reserved + sent + failed + skipped", name="campaign_adds_up"),
        sa.ForeignKeyConstraint(
            ["content_digest"],
            ["campaign_content.digest"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )


def _deliveries() -> None:
    op.create_table(
        "delivery_ledger",
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("call_id", sa.BigInteger(), comment="the call that reserved it last"),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("recipient_id", _ORDERED, nullable=False),
        sa.Column("address", _ORDERED, nullable=False, comment="normal form"),
        sa.Column("status", sa.Text(), nullable=False, comment="pending, reserved, sent, failed or skipped"),
        sa.Column("provider_message_id", sa.Text()),
        sa.Column("outcome", sa.Text(), comment="the provider's later word, monotone by rank"),
        sa.Column("reason", sa.Text(), comment="why failed or skipped"),
        sa.Column("verbatim", sa.Text(), comment="the address as uploaded, where it differs"),
        sa.Column("variables", sa.Text(), comment="JSON; dropped once sent"),
        sa.CheckConstraint("status IN ('pending', 'reserved', 'sent', 'failed', 'skipped')", name="delivery_status"),
        sa.PrimaryKeyConstraint("campaign_id", "recipient_id"),
        sa.UniqueConstraint("campaign_id", "address", name="delivery_once_per_address"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        # Both begin with the campaign, so that nothing is inserted behind: a rebuilt page need not leave room.
        for index in ("delivery_ledger_pkey", "delivery_once_per_address"):
            op.execute(f"ALTER INDEX {index} SET (fillfactor = 100)")


def _calls() -> None:
    op.create_table(
        "send_call",
        sa.Column("id", _ID, nullable=False),
        sa.Column("campaign_id", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("first_id", _ORDERED, nullable=False, comment="lowest recipient id of its range"),
        sa.Column("last_id", _ORDERED, nullable=False, comment="highest recipient id of its range"),
        sa.Column("state", sa.Text(), nullable=False, comment="core.ledger.states.Call"),
        sa.Column("tainted", sa.Boolean(), nullable=False, comment="an attempt may have been accepted"),
        sa.Column("size", sa.SmallInteger(), nullable=False, comment="members when sealed"),
        sa.Column("idempotency_key", sa.Text()),
        sa.Column(
            "members", sa.LargeBinary(), comment="compressed JSON of recipient ids in order; dropped once accepted"
        ),
        sa.Column(
            "payload", sa.LargeBinary(), comment="the compressed request body; dropped once no attempt will follow"
        ),
        sa.Column("payload_sha256", sa.LargeBinary()),
        sa.Column("account", sa.Text(), comment="fingerprint of the provider account that the key belongs to"),
        sa.Column("lease_owner", sa.Text()),
        sa.Column("lease_epoch", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.BigInteger()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("first_attempt_at", sa.BigInteger()),
        sa.Column("due_at", sa.BigInteger(), nullable=False, comment="when somebody must look at it again, while open"),
        sa.Column("published_at", sa.BigInteger(), comment="when a message about it was last confirmed"),
        sa.Column("publishes", sa.Integer(), nullable=False, comment="since it last changed state"),
        sa.Column("http_status", sa.Integer()),
        sa.Column("error", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id"],
            ["campaign.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("idempotency_key"),
    )
    for name, columns, condition in (
        ("ix_send_call_open", ["campaign_id", "publishes", "due_at"], _OPEN),
        ("ix_send_call_held", ["campaign_id"], _HELD),
        ("ix_send_call_unknown", ["campaign_id"], _UNKNOWN),
    ):
        op.create_index(name, "send_call", columns, sqlite_where=condition, postgresql_where=condition)


def _watching() -> None:
    op.create_table(
        "operator_action",
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False, comment="campaign id, call id or ledger"),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "heartbeat",
        sa.Column("process", sa.Text(), nullable=False, comment="the word of the Procfile"),
        sa.Column("instance", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("process", "instance"),
    )
    op.create_table(
        "alert_state",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("firing_since", sa.BigInteger()),
        sa.Column("last_told_at", sa.BigInteger()),
        sa.Column("value", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("name", "subject"),
    )
