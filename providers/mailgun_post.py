"""The shapes of a Mailgun post: JSON, and the forms of its legacy webhooks, URL-encoded or multipart.

The shape is read off the body itself, so that a parked post is read alike without any header. Sources:
documentation.mailgun.com, webhook payloads; mailgun/documentation, user_manual.rst, for the forms.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from providers import payload, url_form
from providers.payload import Unreadable

PROOF_FIELDS = ("timestamp", "token", "signature")
MOST_FIELDS = 1000  # a mail's variables become fields too; forms are read before their proof is known
LONGEST_BOUNDARY = 70  # RFC 2046, 5.1.1
_FIELD_NAME = re.compile(rb'; *name="?([^";\r\n]+)')


@dataclass(frozen=True, slots=True)
class MailgunPost:
    """A post as written: `proof` holds the members of its signature, `said` the event (empty where there is none)."""

    proof: Mapping[str, object]
    said: dict[str, object]
    is_form: bool


def read(body: bytes) -> MailgunPost:
    """The post that `body` is, its proof unchecked. Raises Unreadable."""
    if is_json(body):
        content = payload.read_object(body)
        return MailgunPost(_object(content.get("signature")), _object(content.get("event-data")), is_form=False)
    fields = _multipart(body) if body.startswith(b"--") else _urlencoded(body)
    # A variable of the mail may have the name of a field: of the proof the last value is Mailgun's own, else the first.
    proof: dict[str, object] = {name: value for name, value in fields if name in PROOF_FIELDS}
    first: dict[str, object] = {}
    for name, value in fields:
        first.setdefault(name, value)
    return MailgunPost(proof, first | proof, is_form=True)


def is_json(body: bytes) -> bool:
    """Whether `body` is to be read as a JSON object; no form begins with a brace."""
    return body[:64].lstrip().startswith(b"{")


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _urlencoded(body: bytes) -> list[tuple[str, str]]:
    try:
        pairs = url_form.pairs(body, MOST_FIELDS)
    except ValueError:
        raise Unreadable("the body is neither JSON nor a form") from None
    return [(_text(name), _text(value)) for name, value in pairs]


def _multipart(body: bytes) -> list[tuple[str, str]]:
    """The fields of a multipart form; the files in it (attachments of the mail) are passed over."""
    boundary = body[: LONGEST_BOUNDARY + 4].partition(b"\r\n")[0]
    delimiter = b"\r\n" + boundary
    content = b"\r\n" + body
    if len(boundary) <= 2 or content.count(delimiter) > MOST_FIELDS:
        raise Unreadable("the body is neither JSON nor a form")
    parts = (part.partition(b"\r\n\r\n") for part in content.split(delimiter))
    named = ((_FIELD_NAME.search(head), head, value) for head, _, value in parts)
    return [(_text(name[1]), _text(value)) for name, head, value in named if name and b"filename=" not in head]


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
