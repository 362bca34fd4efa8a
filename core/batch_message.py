"""The message that wakes a worker for one call: ids only, JSON with a schema version.

It carries the identity of the ledger that published it, so that a worker on another or an older ledger notices. The
ledger is the truth about the call: a message may be lost, repeated or late without harm.
"""

import json
from dataclasses import dataclass
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validate

from core.errors import NewerVersion, Undecodable
from core.messages import Outgoing
from core.topology import Topology

VERSION = 1
LARGEST_ID = 2**63 - 1  # both engines keep ids in 64 bits


@dataclass(frozen=True, slots=True)
class BatchMessage:
    """Which call is to be moved, and which ledger said so, as str(core.ledger.identity.Identity) writes it."""

    ledger: str
    campaign_id: str
    call_id: int


class BatchSchema(Schema):
    """Version 1 of the message on the wire; unknown members are ignored, so that fields can be added within it."""

    class Meta:
        unknown = EXCLUDE

    v = fields.Integer(required=True, strict=True, validate=validate.OneOf([VERSION]), load_only=True)
    ledger = fields.String(required=True, validate=validate.Regexp(r"[0-9A-Za-z]{1,64}:[0-9]{1,18}\Z"))
    campaign_id = fields.String(required=True, validate=validate.Regexp(r"[0-9A-Za-z_-]{1,64}\Z"))
    call_id = fields.Integer(required=True, strict=True, validate=validate.Range(1, LARGEST_ID))

    @post_load
    def _to_message(self, data: dict[str, Any], **_: Any) -> BatchMessage:
        del data["v"]
        return BatchMessage(**data)


_SCHEMA = BatchSchema()


def encode(message: BatchMessage) -> bytes:
    """The message as UTF-8 JSON of the current version."""
    written = {
        "v": VERSION,
        "ledger": message.ledger,
        "campaign_id": message.campaign_id,
        "call_id": message.call_id,
    }
    return json.dumps(written, separators=(",", ":")).encode()


def decode(body: bytes) -> BatchMessage:
    """The batch of a message body; raises Undecodable, or NewerVersion if a newer mailward wrote it."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Undecodable("not_json", str(error)[:200]) from None
    if not isinstance(data, dict):
        raise Undecodable("not_an_object", f"the body is a JSON {type(data).__name__}")
    version = data.get("v")
    if type(version) is int and version > VERSION:
        raise NewerVersion("newer_version", f"wire version {version}, this process reads up to {VERSION}")
    if any(type(data.get(name)) is bool for name in ("v", "call_id")):
        raise Undecodable("not_a_batch", "true and false are no numbers")  # to marshmallow they are 1 and 0
    try:
        message: BatchMessage = _SCHEMA.load(data)
    except (ValidationError, OverflowError) as error:
        raise Undecodable("not_a_batch", str(error)[:500]) from None
    return message


def message_id(campaign_id: str, call_id: int) -> str:
    """The id under which the broker, the dead-letter log and operators know every message about a call."""
    return f"batch:{campaign_id}.{call_id}"


def outgoing(message: BatchMessage, topology: Topology) -> Outgoing:
    """The message as it is published to the queue of batches."""
    name = message_id(message.campaign_id, message.call_id)
    return Outgoing(topology.work_exchange, topology.batches.name, encode(message), name)
