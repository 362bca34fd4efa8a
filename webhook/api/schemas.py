"""The JSON of the API: what requests must look like, and what answers do."""

from marshmallow import RAISE, Schema, fields

from core import records
from core.history import Judgement
from core.recipient_view import View


class RestoreRequest(Schema):
    """POST …/restore; an empty body means the defaults."""

    class Meta:
        unknown = RAISE

    force = fields.Boolean(load_default=False, truthy={True}, falsy={False})


class JudgementSchema(Schema):
    """What one event meant for one key of the address."""

    event_id = fields.String()
    key = fields.String()
    provider = fields.String()
    kind = fields.String()
    rule = fields.String()
    detail = fields.String()
    outcome = fields.Function(lambda one: one.outcome.value)
    occurred_at = fields.AwareDateTime(format="iso")
    created_at = fields.AwareDateTime(format="iso")
    applied_at = fields.AwareDateTime(format="iso", allow_none=True)
    restored_at = fields.AwareDateTime(format="iso", allow_none=True)


class BadLineSchema(Schema):
    """A line of an import that was not taken."""

    line = fields.Integer()
    reason = fields.String()


_JUDGEMENTS = JudgementSchema(many=True)


def recipient(view: View) -> dict[str, object]:
    """The answer of GET: every record (`record`, or `record_base64` where it is no text) and what blocks."""
    return {
        "address": view.address.normal,
        "records": [
            {"key": key, **records.as_value(record)} for key, record in view.records.items() if record is not None
        ],
        "blocked": bool(view.blocks),
        "blocks": judgements(view.blocks),
    }


def explanation(view: View) -> dict[str, object]:
    """The answer of GET …/why: everything in the journal, newest first."""
    return {
        "address": view.address.normal,
        "has_record": any(record is not None for record in view.records.values()),
        "blocked": bool(view.blocks),
        "journal": judgements(view.judgements),
    }


def judgements(some: list[Judgement]) -> list[dict[str, object]]:
    """Journal rows as JSON."""
    dumped: list[dict[str, object]] = _JUDGEMENTS.dump(some)
    return dumped
