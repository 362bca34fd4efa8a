"""What requests to the campaign API must look like."""

import re

from marshmallow import RAISE, Schema, ValidationError, fields, validate

from core.ledger.campaigns import STATUSES
from core.ledger.lifecycle import CHOICES
from sender.campaign import AUDIENCES, REMAINING
from sender.content import ContentSchema
from webhook.api.auth import ActorHeader
from webhook.api.bodies import IdempotencyKeyHeader
from webhook.api.schema_fields import TrueOrFalse

PAGE_LIMIT = 1000

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def _storable(text: str) -> None:
    """PostgreSQL keeps no zero byte, and no engine half of a character."""
    if _UNSTORABLE.search(text):
        raise ValidationError("must not hold a zero byte or half of a character (a lone surrogate)")


class _Request(Schema):
    class Meta:
        unknown = RAISE


class CreateRequest(_Request):
    """POST /api/campaigns, without the content, which sender.content describes."""

    name = fields.String(required=True, validate=[validate.Length(1, 200), _storable])
    audience = fields.String(load_default=AUDIENCES[0], validate=validate.OneOf(AUDIENCES))
    filter = fields.String(load_default="", validate=[validate.Length(max=500), _storable])


class CampaignRequest(CreateRequest, ContentSchema):
    """POST /api/campaigns as a whole, for the OpenAPI document."""

    class Meta:
        unknown = RAISE


class StartRequest(_Request):
    """POST …/start."""

    expected_total = fields.Integer(load_default=None, allow_none=True, strict=True)


class PauseRequest(_Request):
    """POST …/pause."""

    reason = fields.String(load_default="paused by an operator", validate=[validate.Length(1, 200), _storable])


class ResumeRequest(_Request):
    """POST …/resume; `accept_missing` goes on although records are missing, `replan_absent` mails those after all who
    were skipped because theirs were."""

    accept_missing = TrueOrFalse(load_default=False)
    replan_absent = TrueOrFalse(load_default=False)


class CloneRequest(_Request):
    """POST …/clone."""

    name = fields.String(load_default="", validate=[validate.Length(max=200), _storable])
    statuses = fields.List(
        fields.String(validate=validate.OneOf(REMAINING)), load_default=list(REMAINING), validate=validate.Length(min=1)
    )


class TestMailRequest(_Request):
    """POST …/test-mail; `variables` go before the merge fields of the campaign's first recipient."""

    __test__ = False  # for pytest, which would take it for a test

    to = fields.String(required=True)
    variables = fields.Dict(fields.String(), fields.Raw(), load_default=dict)


class TestMailHeaders(ActorHeader, IdempotencyKeyHeader):
    """POST …/test-mail."""

    __test__ = False


class ResolveRequest(_Request):
    """POST /api/calls/<id>/resolve."""

    choice = fields.String(required=True, validate=validate.OneOf(list(CHOICES)))


class DeliveriesQuery(_Request):
    """GET …/deliveries."""

    status = fields.String(load_default="", validate=validate.OneOf(STATUSES))
    after = fields.String(load_default="", validate=_storable)
    limit = fields.Integer(load_default=100, validate=validate.Range(1, PAGE_LIMIT))
