"""What a campaign sends: one immutable value, checked when it comes in, stored under the hash of its bytes.

Owns which content is acceptable. Knows nothing of the merge fields inside it (sender.template) or of providers.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from marshmallow import RAISE, Schema, ValidationError, fields, post_load, pre_load, validates_schema

from sender import content_rules as rules


@dataclass(frozen=True, slots=True)
class Content:
    """Subject, html and text are templates; all else goes out as it is.

    `sender` and `reply_to` may carry display names. `headers` and `tags` are sorted by name. `unsubscribe_url` is an
    https URL with `{token}` in it, or empty: no List-Unsubscribe.
    """

    sender: str
    subject: str
    html: str = ""
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    reply_to: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    unsubscribe_url: str = ""

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        """The content that an operator wrote. Raises marshmallow.ValidationError, which names the fields."""
        content: Self = ContentSchema().load(data)
        return content

    @classmethod
    def from_canonical(cls, stored: bytes | str) -> Self:
        """The content whose `canonical` this is, not checked again: rules may have become stricter since."""
        data = json.loads(stored)
        data["headers"], data["tags"] = tuple(data["headers"].items()), tuple(data["tags"].items())
        return cls(sender=data.pop("from"), reply_to=tuple(data.pop("reply_to")), **data)

    def canonical(self) -> bytes:
        """The one spelling as JSON, UTF-8, with the names that operators use."""
        value = asdict(self) | {"from": self.sender, "headers": dict(self.headers), "tags": dict(self.tags)}
        del value["sender"]
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def digest(self) -> str:
        """SHA-256 of `canonical`, 64 hex digits: the id under which the content is stored."""
        return hashlib.sha256(self.canonical()).hexdigest()


class ContentSchema(Schema):
    """Content as operators write it: `from`, `subject`, `html`, `text`, `headers` and `tags` as objects, `reply_to` as
    one address or a list, `unsubscribe_url`. Loads a Content; raises ValidationError by field."""

    class Meta:
        unknown = RAISE

    sender = fields.String(data_key="from", required=True, validate=rules.mailbox)
    subject = fields.String(required=True, validate=rules.subject)
    html = fields.String(load_default="", validate=rules.body)
    text = fields.String(load_default="", validate=rules.body)
    headers = fields.Dict(fields.String(), fields.String(), load_default=dict, validate=rules.headers)
    reply_to = fields.List(fields.String(validate=rules.mailbox), load_default=list, validate=rules.at_most(10))
    tags = fields.Dict(fields.String(), fields.String(), load_default=dict, validate=rules.tags)
    unsubscribe_url = fields.String(load_default="", validate=rules.unsubscribe_url)

    @pre_load
    def _one_address_is_a_list(self, data: Any, **_: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("reply_to"), str):
            return {**data, "reply_to": [data["reply_to"]]}
        return data

    @validates_schema
    def _fields_fit_together(self, data: dict[str, Any], **_: Any) -> None:
        if not data["html"].strip() and not data["text"].strip():
            raise ValidationError("one of html and text must say something", "html")
        own = {name.lower() for name in data["headers"]} & rules.UNSUBSCRIBE_HEADERS
        if data["unsubscribe_url"] and own:
            raise ValidationError(f"{sorted(own)[0]} is written from unsubscribe_url", "headers")

    @post_load
    def _content(self, data: dict[str, Any], **_: Any) -> Content:
        data["sender"] = data["sender"].strip()
        data["reply_to"] = tuple(one.strip() for one in data["reply_to"])
        data["headers"] = tuple(sorted(data["headers"].items()))
        data["tags"] = tuple(sorted(data["tags"].items()))
        return Content(**data)
