"""What the campaign API answers: schemas that dump rows of the ledger, and what a view adds to them."""

from marshmallow import Schema, fields, validate

from core.ledger.campaigns import STATUSES
from core.ledger.lifecycle import CHOICES
from sender.campaign import AUDIENCES, OVER
from webhook.api.schema_fields import Moment, TextOrNull
from webhook.api.schemas import BadLineSchema

STATES = ("draft", "running", "paused", *OVER)


class StatsSchema(Schema):
    """Counts that add up: total = sent + reserved + failed + skipped + remaining; unknown is part of reserved."""

    total = fields.Integer(required=True)
    sent = fields.Integer(required=True)
    reserved = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    skipped = fields.Integer(required=True)
    remaining = fields.Integer(required=True)
    not_known = fields.Integer(required=True, attribute="unknown", data_key="unknown")


class CampaignSchema(Schema):
    """A campaign, without its counts."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    state = fields.String(required=True, validate=validate.OneOf(STATES))
    pause_reason = fields.String(required=True)
    audience = fields.String(required=True, validate=validate.OneOf(AUDIENCES))
    filter = fields.String(required=True, attribute="audience_filter")
    cloned_from = TextOrNull(required=True, allow_none=True)
    total = fields.Integer(required=True)
    created_at = Moment()
    started_at = Moment(allow_none=True)
    finished_at = Moment(allow_none=True)


class CampaignsSchema(Schema):
    """Campaigns, the newest first."""

    campaigns = fields.List(fields.Nested(CampaignSchema), required=True)


class InFlightSchema(Schema):
    """A call that may still reach the provider."""

    call = fields.Integer(required=True, attribute="call_id")
    idempotency_key = fields.String(required=True)
    size = fields.Integer(required=True)


class UndecidedSchema(Schema):
    """A call that an operator may settle, with the choices there are."""

    call = fields.Integer(required=True, attribute="id")
    state = fields.String(required=True)
    size = fields.Integer(required=True)
    idempotency_key = fields.String(required=True)
    first_attempt_at = Moment(allow_none=True)
    error = fields.String(required=True, allow_none=True)
    choices = fields.Constant(list(CHOICES), required=True, metadata={"type": "array", "items": {"type": "string"}})


class CountedSchema(Schema):
    """How far a campaign has come."""

    stats = fields.Nested(StatsSchema, required=True)


class StoppedSchema(CountedSchema):
    """The same, and the calls that were in flight when it stopped: no other will reach the provider."""

    in_flight = fields.List(fields.Nested(InFlightSchema), required=True)


class DetailSchema(CampaignSchema, StoppedSchema):
    """A campaign with its counts, the calls in flight, and those that need a decision."""

    undecided = fields.List(fields.Nested(UndecidedSchema), required=True)


class UploadedSchema(CountedSchema):
    """What an upload came to; of the `bad` lines the first hundred are told."""

    added = fields.Integer(required=True)
    repeated = fields.Integer(required=True)
    bad = fields.Integer(required=True)
    bad_lines = fields.List(fields.Nested(BadLineSchema), required=True)


class RemovedSchema(Schema):
    """How many recipients were taken out of a draft."""

    removed = fields.Integer(required=True)


class DeliverySchema(Schema):
    """A delivery: to whom, how far it came, and why not further."""

    recipient_id = fields.String(required=True)
    address = fields.String(required=True)
    status = fields.String(required=True, validate=validate.OneOf(STATUSES))
    reason = fields.String(required=True, allow_none=True)
    outcome = fields.String(required=True, allow_none=True)
    call = fields.Integer(required=True, attribute="call_id", allow_none=True)
    provider_message_id = fields.String(required=True, allow_none=True)
    updated_at = Moment()


class DeliveriesSchema(Schema):
    """A page of deliveries; `next` is the `after` of the following page, null on the last."""

    deliveries = fields.List(fields.Nested(DeliverySchema), required=True)
    next = fields.String(required=True, allow_none=True)


class TestMailSchema(Schema):
    """What the provider said to a test mail."""

    __test__ = False  # for pytest, which would take it for a test

    idempotency_key = fields.String(required=True, attribute="key")
    result = fields.Function(lambda done: done.answer.happening.value, required=True, metadata={"type": "string"})
    provider_message_id = fields.Function(
        lambda done: next(iter(done.answer.ids), None), required=True, metadata={"type": ["string", "null"]}
    )
    status = fields.Function(
        lambda done: done.answer.status or None, required=True, metadata={"type": ["integer", "null"]}
    )
    error = fields.String(required=True, attribute="answer.error")


class ResolvedSchema(Schema):
    """The call that was settled, and how many deliveries changed with it."""

    call = fields.Integer(required=True)
    deliveries = fields.Integer(required=True)
