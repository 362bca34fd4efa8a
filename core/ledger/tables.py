"""The SQL tables of the delivery ledger. Times are microseconds since the epoch, as in core.tables."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)

from core.ledger.states import HELD, OPEN, Call
from core.tables import metadata

# Ranges of ids must mean the same to PostgreSQL, SQLite and Python: the order of code points.
_ORDERED = Text().with_variant(Text(collation="C"), "postgresql")
_ID = BigInteger().with_variant(Integer, "sqlite")

# One row: which ledger this is, and how many calls it has sealed. Written to Redis and into messages, so that a copy or
# an old backup is recognised before it sends anything.
ledger_identity = Table(
    "ledger_identity",
    metadata,
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("ledger_id", Text, nullable=False),
    Column("seals", BigInteger, nullable=False),
    CheckConstraint("one = 1", name="only_one_ledger"),
)

campaign_content = Table(
    "campaign_content",
    metadata,
    Column("digest", Text, primary_key=True, comment="SHA-256 of body; a row never changes"),
    Column("body", Text, nullable=False, comment="canonical JSON of sender.content.Content"),
)

# The counters add up to total at every commit; they move with the deliveries, in the same transaction.
campaign = Table(
    "campaign",
    metadata,
    Column("id", Text, primary_key=True, comment="random, so that no other ledger makes the same idempotency keys"),
    Column("name", Text, nullable=False),
    Column(
        "state", Text, nullable=False, comment="draft, running, paused, completed, completed_with_issues, cancelled"
    ),
    Column("pause_reason", Text, nullable=False, default=""),
    Column("content_digest", Text, ForeignKey("campaign_content.digest"), nullable=False),
    Column("audience", Text, nullable=False, comment="upload, or store: every eligible recipient record"),
    Column("audience_filter", Text, nullable=False, default="", comment="field=value of the records' JSON"),
    Column("cloned_from", Text, nullable=False, default="", comment="the campaign whose remaining members these are"),
    Column("accept_missing", Boolean, nullable=False, default=False),
    Column("total", BigInteger, nullable=False, default=0),
    Column("pending", BigInteger, nullable=False, default=0),
    Column("reserved", BigInteger, nullable=False, default=0),
    Column("sent", BigInteger, nullable=False, default=0),
    Column("failed", BigInteger, nullable=False, default=0),
    Column("skipped", BigInteger, nullable=False, default=0),
    Column("created_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
    Column("progress_at", BigInteger, comment="when a delivery last changed"),
    CheckConstraint("total = pending + reserved + sent + failed + skipped", name="campaign_adds_up"),
)

# One row per recipient of a campaign. The idempotency key is that of its call (send_call), not copied a hundred times.
# Columns of eight bytes first: PostgreSQL fills the gap before each one that follows a text.
delivery_ledger = Table(
    "delivery_ledger",
    metadata,
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("call_id", BigInteger, comment="the call that reserved it last"),
    Column("campaign_id", Text, primary_key=True),
    Column("recipient_id", _ORDERED, primary_key=True),
    Column("address", _ORDERED, nullable=False, comment="normal form"),
    Column("status", Text, nullable=False, comment="pending, reserved, sent, failed or skipped"),
    Column("provider_message_id", Text),
    Column("provider_message_uuid", Uuid, comment="provider_message_id where it is a UUID, on PostgreSQL"),
    Column("outcome", Text, comment="the provider's later word, monotone by rank"),
    Column("reason", Text, comment="why failed or skipped"),
    Column("verbatim", Text, comment="the address as uploaded, where it differs"),
    Column("variables", Text, comment="JSON; dropped once sent"),
    UniqueConstraint("campaign_id", "address", name="delivery_once_per_address"),
    CheckConstraint("status IN ('pending', 'reserved', 'sent', 'failed', 'skipped')", name="delivery_status"),
    sqlite_with_rowid=False,
)

# One provider call of at most 100 deliveries: while planned, only a range of recipient ids; sealed, everything.
send_call = Table(
    "send_call",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("campaign_id", Text, ForeignKey("campaign.id"), nullable=False),
    Column("generation", Integer, nullable=False, default=1),
    Column("first_id", _ORDERED, nullable=False, comment="lowest recipient id of its range"),
    Column("last_id", _ORDERED, nullable=False, comment="highest recipient id of its range"),
    Column("state", Text, nullable=False, comment="core.ledger.states.Call"),
    Column("tainted", Boolean, nullable=False, default=False, comment="an attempt may have been accepted"),
    Column("size", SmallInteger, nullable=False, default=0, comment="members when sealed"),
    Column("idempotency_key", Text, unique=True),
    Column("members", LargeBinary, comment="compressed JSON of recipient ids in order; dropped once accepted"),
    Column("payload", LargeBinary, comment="the compressed request body; dropped once no attempt will follow"),
    Column("payload_sha256", LargeBinary),
    Column("account", Text, comment="fingerprint of the provider account that the key belongs to"),
    Column("lease_owner", Text),
    Column("lease_epoch", Integer, nullable=False, default=0),
    Column("lease_until", BigInteger),
    Column("attempts", Integer, nullable=False, default=0),
    Column("first_attempt_at", BigInteger),
    Column("due_at", BigInteger, nullable=False, comment="when somebody must look at it again, while open"),
    Column("published_at", BigInteger, comment="when a message about it was last confirmed"),
    Column("publishes", Integer, nullable=False, default=0, comment="since it last changed state"),
    Column("http_status", Integer),
    Column("error", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)
# Each serves one question whose condition is written literally, as SQLite wants it (core.ledger.rows.in_states): what
# needs a message, whose lease or window has passed, and what is unknown.
_OPEN = send_call.c.state.in_([state.value for state in OPEN])
_HELD = send_call.c.state.in_([state.value for state in HELD])
_UNKNOWN = send_call.c.state.in_([Call.UNKNOWN.value])
_BY_NEED = (send_call.c.campaign_id, send_call.c.publishes, send_call.c.due_at)
Index("ix_send_call_open", *_BY_NEED, sqlite_where=_OPEN, postgresql_where=_OPEN)
Index("ix_send_call_held", send_call.c.campaign_id, sqlite_where=_HELD, postgresql_where=_HELD)
Index("ix_send_call_unknown", send_call.c.campaign_id, sqlite_where=_UNKNOWN, postgresql_where=_UNKNOWN)

# Who did what, when, and with which stated risk.
operator_action = Table(
    "operator_action",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False, comment="campaign id, call id or ledger"),
    Column("detail", Text, nullable=False, default=""),
)

heartbeat = Table(
    "heartbeat",
    metadata,
    Column("process", Text, primary_key=True, comment="the word of the Procfile"),
    Column("instance", Text, primary_key=True),
    Column("seen_at", BigInteger, nullable=False),
)

alert_state = Table(
    "alert_state",
    metadata,
    Column("name", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("firing_since", BigInteger),
    Column("last_told_at", BigInteger),
    Column("value", Float, nullable=False, default=0.0),
)
