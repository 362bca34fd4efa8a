"""A content and a member of its campaign make a mail: the same mail every time, or an error that names the field."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from core.addresses import digest
from core.ledger import tags
from sender import template_needs, unsubscribe
from sender.content import Content
from sender.content_rules import SUBJECT_LIMIT, TOKEN
from sender.mail import Mail
from sender.template import BadTemplate, Part, Unrenderable

__all__ = ["BadTemplate", "Member", "RenderError", "Renderer"]

_UNPRINTABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029]+")  # controls, and all that begins another line


class Member(NamedTuple):
    """Whom a mail is for: `address` in normal form, `verbatim` as it was written (empty: the same), merge fields."""

    recipient_id: str
    address: str
    verbatim: str
    variables: Mapping[str, Any]

    @classmethod
    def stored(cls, recipient_id: str, address: str, verbatim: str | None, variables: str | None) -> "Member":
        """A member as the ledger keeps it: `variables` is a JSON object, as text."""
        return cls(recipient_id, address, verbatim or "", json.loads(variables) if variables else {})


class RenderError(Exception):
    """A mail cannot be made: `recipient_id`, `part` (subject, html or text), `variable` (perhaps empty), `reason`.

    None of them holds the value of a field.
    """

    def __init__(self, recipient_id: str, part: str, variable: str, reason: str) -> None:
        where = f"{part}: {variable}" if variable else part
        super().__init__(f"recipient {recipient_id}: {where}: {reason}")
        self.recipient_id, self.part, self.variable, self.reason = recipient_id, part, variable, reason


class Renderer:
    """Renders one content for the members of one campaign; compiled once. Threads may share it.

    `env` and `campaign_id` become tags, as do the pairs of `extra_tags`; `secret` signs the unsubscribe links. Raises
    BadTemplate, and ValueError where a tag would not fit.
    """

    def __init__(
        self, content: Content, env: str, campaign_id: str, secret: str, extra_tags: Iterable[tuple[str, str]] = ()
    ) -> None:
        self._content, self._campaign_id, self._secret = content, campaign_id, secret
        self._subject = Part("subject", content.subject, html=False, limit=SUBJECT_LIMIT)
        self._html = Part("html", content.html, html=True)
        self._text = Part("text", content.text, html=False)
        self._parts = (self._subject, self._html, self._text)
        if content.unsubscribe_url:
            unsubscribe.make(secret, campaign_id, "")  # an unusable secret shows now, not at the first mail
        else:
            self._refuse_unsubscribe_links()
        self._tags = (*content.tags, *extra_tags, (tags.ENVIRONMENT, env), (tags.CAMPAIGN, campaign_id))
        if not all(tags.fits(name) and tags.fits(value) for name, value in self._tags):
            raise ValueError("environment, campaign id and tags must be of A-Z a-z 0-9 _ -, 256 characters at most")
        self._needs = self._sure_needs()

    @property
    def variables(self) -> frozenset[str]:
        """The merge fields that the templates use, ours left out."""
        return frozenset().union(*(part.variables for part in self._parts)) - template_needs.OURS

    def render(self, member: Member) -> Mail:
        """The mail for `member`. Raises RenderError for the first thing that is wrong."""
        to = member.verbatim or member.address
        fields, headers = self._fields(member, to)
        subject = _UNPRINTABLE.sub(" ", self._rendered(self._subject, member, fields)).strip()
        html = self._rendered(self._html, member, fields)
        text = self._rendered(self._text, member, fields)
        if not subject:
            raise RenderError(member.recipient_id, "subject", _listed(self._subject), "comes out empty")
        if (not html or html.isspace()) and not text.strip():
            part = self._html if self._content.html else self._text
            raise RenderError(member.recipient_id, part.name, _listed(part), "comes out empty")
        own = ((tags.RECIPIENT, tags.tag_of(member.recipient_id)), (tags.TO, digest(member.address)))
        content = self._content
        return Mail(content.sender, to, subject, html, text, content.reply_to, headers, self._tags + own)

    def check(self, members: Iterable[Member]) -> Iterator[RenderError]:
        """Everything that is wrong with anybody's mail, part by part, as `members` stream by; renders only in doubt."""
        for member in members:
            if not self.is_surely_fine(member):
                yield from self.errors(member)

    def is_surely_fine(self, member: Member) -> bool:
        """Whether the mail for `member` is known to be fine without rendering it; False means that nobody knows."""
        plain = member.recipient_id.isascii() and member.address.isascii() and member.verbatim.isascii()
        return plain and self._needs is not None and template_needs.are_met(self._needs, member.variables)

    def errors(self, member: Member) -> list[RenderError]:
        """What is wrong with the mail for `member`: at most one error for each part."""
        try:
            self.render(member)
        except RenderError as first:
            return [first, *(error for error in self._broken_parts(member) if error.part != first.part)]
        return []

    def _broken_parts(self, member: Member) -> Iterator[RenderError]:
        fields, _ = self._fields(member, member.verbatim or member.address)
        for part in self._parts:
            try:
                self._rendered(part, member, fields)
            except RenderError as error:
                yield error

    def _rendered(self, part: Part, member: Member, fields: dict[str, Any]) -> str:
        try:
            return part.render(fields)
        except Unrenderable as error:
            raise RenderError(member.recipient_id, part.name, error.variable, error.reason) from None

    def _fields(self, member: Member, to: str) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
        """The merge fields of `member`, a null counting as none at all, and the headers of the mail."""
        fields = {name: value for name, value in member.variables.items() if value is not None}
        fields["address"] = to
        if not self._content.unsubscribe_url:
            fields.pop("unsubscribe_url", None)
            return fields, self._content.headers
        token = unsubscribe.make(self._secret, self._campaign_id, member.recipient_id)
        url = fields["unsubscribe_url"] = self._content.unsubscribe_url.replace(TOKEN, token)
        ours = (("List-Unsubscribe", f"<{url}>"), ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))  # RFC 8058
        return fields, self._content.headers + ours

    def _refuse_unsubscribe_links(self) -> None:
        for part in self._parts:
            if "unsubscribe_url" in part.variables:
                raise BadTemplate(part.name, 1, "uses unsubscribe_url, but the content sets none")

    def _sure_needs(self) -> tuple[template_needs.Need, ...] | None:
        says = template_needs.always_says_something
        if says(self._subject) and (says(self._html) or says(self._text)):
            return template_needs.needs(self._parts)
        return None


def _listed(part: Part) -> str:
    return ", ".join(sorted(part.variables))
