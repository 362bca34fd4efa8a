"""The JSON of the API: what requests must look like, and what answers do."""

from flask import Response, jsonify
from marshmallow import RAISE, Schema, fields

from core import records
from core.decide import Outcome
from core.recipient_view import View
from webhook.api.schema_fields import TrueOrFalse


class RestoreRequest(Schema):
    """POST …/restore; an empty body means the defaults."""

    class Meta:
        unknown = RAISE

    force = TrueOrFalse(load_default=False)


class JudgementSchema(Schema):
    """What one event meant for one key of the address."""

    event_id = fields.String(required=True)
    key = fields.String(required=True)
    provider = fields.String(required=True)
    kind = fields.String(required=True)
    rule = fields.String(required=True)
    detail = fields.String(required=True)
    outcome = fields.Enum(Outcome, by_value=True, required=True)
    occurred_at = fields.AwareDateTime(format="iso", required=True)
    created_at = fields.AwareDateTime(format="iso", required=True)
    applied_at = fields.AwareDateTime(format="iso", required=True, allow_none=True)
    restored_at = fields.AwareDateTime(format="iso", required=True, allow_none=True)


class RecordSchema(Schema):
    """A record: `record` is its JSON value or its text; `record_base64` has the bytes that are neither."""

    key = fields.String(required=True)
    record = fields.Raw()
    record_base64 = fields.String()


class RecipientSchema(Schema):
    """The answer of GET: every record and what blocks."""

    address = fields.String(required=True)
    records = fields.List(fields.Nested(RecordSchema), required=True)
    blocked = fields.Boolean(required=True)
    blocks = fields.List(fields.Nested(JudgementSchema), required=True)


class ExplanationSchema(Schema):
    """The answer of GET …/why: everything in the journal, newest first."""

    address = fields.String(required=True)
    has_record = fields.Boolean(required=True)
    blocked = fields.Boolean(required=True)
    journal = fields.List(fields.Nested(JudgementSchema), required=True)


class DeletedSchema(Schema):
    """The keys whose records are gone."""

    deleted = fields.List(fields.String(), required=True)


class RestoredSchema(Schema):
    """The removals whose records are back, and how many rows of the journal no longer block."""

    restored = fields.List(fields.Nested(JudgementSchema), required=True)
    rows = fields.Integer(required=True)


class BadLineSchema(Schema):
    """A line of an import that was not taken."""

    line = fields.Integer(required=True)
    reason = fields.String(required=True)


class ImportedSchema(Schema):
    """What an import came to; of the `bad` lines the first hundred are told."""

    stored = fields.Integer(required=True)
    bad = fields.Integer(required=True)
    bad_lines = fields.List(fields.Nested(BadLineSchema), required=True)


def recipient(view: View) -> dict[str, object]:
    """What RecipientSchema dumps."""
    return {
        "address": view.address.normal,
        "records": [
            {"key": key, **records.as_value(record)} for key, record in view.records.items() if record is not None
        ],
        "blocked": bool(view.blocks),
        "blocks": view.blocks,
    }


def explanation(view: View) -> dict[str, object]:
    """What ExplanationSchema dumps."""
    return {
        "address": view.address.normal,
        "has_record": any(record is not None for record in view.records.values()),
        "blocked": bool(view.blocks),
        "journal": view.judgements,
    }


def answer(schema: type[Schema], said: object) -> Response:
    """The JSON answer that `schema` makes of what is said: nothing that it does not describe."""
    dumped: Response = jsonify(schema().dump(said))
    return dumped
