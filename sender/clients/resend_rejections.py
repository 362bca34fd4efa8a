"""What a refusal of Resend's (400, 422) names as its cause: a field of a mail, which mails, or nothing. Pure.

Resend documents names of errors, not the form of their texts; fields stand in backticks ("Invalid `to` field. …"), in
paths (`emails[3].to`) or in plain words. What is not understood names nothing, and the ledger finds the mail by halves.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What was refused."""

    RECIPIENT = "recipient"
    SENDER = "sender"
    SUBJECT = "subject"
    CONTENT = "content"
    CREDENTIALS = "credentials"
    KEY = "key"  # the idempotency key
    UNNAMED = ""


FIELDS: Mapping[str, Cause] = {
    "to": Cause.RECIPIENT,
    "from": Cause.SENDER,
    "reply_to": Cause.SENDER,
    "subject": Cause.SUBJECT,
    "html": Cause.CONTENT,
    "text": Cause.CONTENT,
    "template": Cause.CONTENT,
    "headers": Cause.CONTENT,
    "attachments": Cause.CONTENT,
    "tags": Cause.CONTENT,
    "tag": Cause.CONTENT,
}

# Tried in this order, and only where no field is marked: "the recipient's domain" is about the recipient. Plain "to",
# "from" and "text" are English, too.
WORDS = (
    (re.compile(r"\bapi[ _-]?key\b", re.I), Cause.CREDENTIALS),
    (re.compile(r"\bidempotency\b", re.I), Cause.KEY),
    (re.compile(r"\brecipients?\b|\bto (?:address|field)\b", re.I), Cause.RECIPIENT),
    (re.compile(r"\bsender\b|\bfrom (?:address|field)\b|\bdomain\b|\breply[ _-]to\b", re.I), Cause.SENDER),
    (re.compile(r"\bsubject\b", re.I), Cause.SUBJECT),
    (re.compile(r"\bhtml\b|\btext (?:body|field)\b|\bcontent\b|\btemplate\b", re.I), Cause.CONTENT),
    (re.compile(r"\battachments?\b|\btags?\b|\bheaders?\b", re.I), Cause.CONTENT),
)

_MARKED = re.compile(r"`(?:[^`]*[.\]])?([a-z_]+)`|[\]\d]\.([a-z_]+)\b")
# Only the index of a mail: in `emails[3].to[0]` that is 3. Failing an innocent recipient is worse than halving.
_INDEX = re.compile(
    r"(?:\bemails?|(?:^|[\s`'\"(]))\[(\d{1,3})\]"
    r"|\bindex[ :=#]{1,2}(\d{1,3})\b"
    rf"|(?:\bemails?\.|(?<![\w.]))(\d{{1,3}})\.(?:{'|'.join(FIELDS)})\b",
    re.M,
)


@dataclass(frozen=True, slots=True)
class Naming:
    """The cause that a refusal names, and the indexes (from 0, ascending) of the mails that it names."""

    cause: Cause = Cause.UNNAMED
    indexes: tuple[int, ...] = ()


def read(answer: Mapping[str, object], mails: int) -> Naming:
    """What the error object `answer` names, in a call of `mails` mails.

    Where fields of a mail's own and of the whole campaign are marked, the campaign's count: a pause fails nobody.
    """
    texts = [str(answer.get("message") or "")]
    indexes: set[int] = set()
    errors = answer.get("errors")
    for one in errors if isinstance(errors, list) else ():
        if isinstance(one, dict):
            texts.append(str(one.get("message") or ""))
            if type(one.get("index")) is int:
                indexes.add(one["index"])
    text = "\n".join(texts)[:20_000]
    indexes |= {int(next(filter(None, match.groups()))) for match in _INDEX.finditer(text)}
    named = tuple(sorted(index for index in indexes if 0 <= index < mails))
    return Naming(_cause(text), named if len(named) < mails or mails == 1 else ())


def _cause(text: str) -> Cause:
    marked = {FIELDS[field] for match in _MARKED.finditer(text) if (field := match[1] or match[2]) in FIELDS}
    if marked:
        return min(marked, key=lambda cause: (cause is Cause.RECIPIENT, cause))
    return next((cause for pattern, cause in WORDS if pattern.search(text)), Cause.UNNAMED)
