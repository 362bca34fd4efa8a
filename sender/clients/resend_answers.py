"""What an answer of Resend's proves about the call, as a table. Pure.

Names and statuses drift (the same fault was `403 invalid_api_key` and is `401 validation_error`), so a name counts only
within its class of statuses, and every class has a default. Sources: resend/resend-rust "Update errors" (August 2026),
resend.com/docs/api-reference/errors, resend.com/docs/dashboard/emails/idempotency-keys.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.ledger.states import Happening
from sender.clients import rate_headers, resend_rejections
from sender.clients.base import Answer
from sender.clients.resend_rejections import Cause


class Pause(StrEnum):
    """Why a campaign must be paused, as `Answer.pause` says it."""

    NONE = ""
    CREDENTIALS = "credentials"
    DAILY_QUOTA = "daily_quota"
    MONTHLY_QUOTA = "monthly_quota"
    SENDER = "sender"
    SUBJECT = "subject"
    CONTENT = "content"
    OUR_REQUEST = "our_request"  # a fault of mailward's own
    REFUSED = "refused"  # the provider, or something before it, wants nothing of us


@dataclass(frozen=True, slots=True)
class Row:
    """What follows from an answer."""

    happening: Happening
    pause: Pause = Pause.NONE


NOT_SENT = Row(Happening.NOT_SENT)
AMBIGUOUS = Row(Happening.AMBIGUOUS)
RUNNING = Row(Happening.RUNNING_ELSEWHERE)
LOCKED_OUT = Row(Happening.NOT_SENT, Pause.CREDENTIALS)
REFUSED = Row(Happening.NOT_SENT, Pause.REFUSED)
FAULTY = Row(Happening.REJECTED_FOR_ALL, Pause.OUR_REQUEST)

# Statuses that share their names; any other status is its class, by its first digit.
CLASSES: Mapping[int, str] = {400: "faulty", 422: "faulty", 401: "account", 403: "account", 409: "409", 429: "429"}

NAMES: Mapping[tuple[str, str], Row] = {
    ("429", "rate_limit_exceeded"): NOT_SENT,
    ("429", "daily_quota_exceeded"): Row(Happening.NOT_SENT, Pause.DAILY_QUOTA),
    ("429", "monthly_quota_exceeded"): Row(Happening.NOT_SENT, Pause.MONTHLY_QUOTA),
    ("409", "concurrent_idempotent_requests"): RUNNING,
    ("409", "resource_locked"): RUNNING,
    ("409", "invalid_idempotent_request"): Row(Happening.KEY_TAKEN),
    ("faulty", "invalid_idempotency_key"): FAULTY,
    ("faulty", "invalid_from_address"): Row(Happening.REJECTED_FOR_ALL, Pause.SENDER),
    ("faulty", "invalid_attachment"): Row(Happening.REJECTED_FOR_ALL, Pause.CONTENT),
    ("faulty", "invalid_access"): FAULTY,
    ("faulty", "invalid_region"): FAULTY,
    ("faulty", "invalid_api_key"): LOCKED_OUT,
    ("faulty", "missing_api_key"): LOCKED_OUT,
}

CAUSES: Mapping[Cause, Row] = {
    Cause.RECIPIENT: Row(Happening.REJECTED),
    Cause.SENDER: Row(Happening.REJECTED_FOR_ALL, Pause.SENDER),
    Cause.SUBJECT: Row(Happening.REJECTED_FOR_ALL, Pause.SUBJECT),
    Cause.CONTENT: Row(Happening.REJECTED_FOR_ALL, Pause.CONTENT),
    Cause.KEY: FAULTY,
    Cause.CREDENTIALS: LOCKED_OUT,
}

# Where a refusal names no cause. These two are about the form of the request, which is the same for every mail.
UNNAMED: Mapping[str, Row] = {
    name: FAULTY
    for name in ("missing_required_field", "missing_required_fields", "missing_required_parameter", "invalid_parameter")
}

DEFAULTS: Mapping[str, Row] = {
    "429": NOT_SENT,
    "409": RUNNING,
    "account": LOCKED_OUT,
    "faulty": Row(Happening.REJECTED),
    "3xx": REFUSED,
    "4xx": REFUSED,
    "5xx": AMBIGUOUS,
    # Written by proxies, which cannot know whether the request had reached its end.
    "408": AMBIGUOUS,
    "425": AMBIGUOUS,
    "499": AMBIGUOUS,
}


def read(status: int, headers: Mapping[str, str], body: bytes, whole: bool, mails: int, now: datetime) -> Answer:
    """What an answer to a call of `mails` mails proves.

    `whole`: whether the body came to its end. Of a refusal the status alone is enough; of a success it is not.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    rate = rate_headers.read(lower, now)
    content = _json(body) if whole else {}
    if 200 <= status < 300:
        ids = _ids(content)
        if len(ids) == mails:
            return Answer(Happening.ACCEPTED, status, ids=ids, rate=rate)
        said = f"a success with {len(ids)} ids for {mails} mails" if whole else "a success that broke off"
        return Answer(Happening.AMBIGUOUS, status, error="unreadable_success", text=said, rate=rate)
    name = str(content.get("name") or "")[:100]
    text = str(content.get("message") or "")[:1000]
    row, culprits = _judge(status, name, content, mails)
    return Answer(
        row.happening, status, error=name or "unnamed", text=text, pause=row.pause, culprits=culprits, rate=rate
    )


def _judge(status: int, name: str, content: Mapping[str, object], mails: int) -> tuple[Row, tuple[int, ...]]:
    group = CLASSES.get(status) or (str(status) if str(status) in DEFAULTS else f"{status // 100}xx")
    default = DEFAULTS.get(group, AMBIGUOUS)
    if (group, name) in NAMES or group != "faulty":
        return NAMES.get((group, name), default), ()
    naming = resend_rejections.read(content, mails)
    row = CAUSES.get(naming.cause) or (default if naming.indexes else UNNAMED.get(name, default))
    return row, naming.indexes if row.happening is Happening.REJECTED else ()


def _json(body: bytes) -> Mapping[str, object]:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _ids(content: Mapping[str, object]) -> tuple[str, ...]:
    """The ids of a success in order, or none if any of them is missing, empty or there twice."""
    data = content.get("data")
    items = data if isinstance(data, list) else []
    ids = [one.get("id") if isinstance(one, dict) else None for one in items]
    texts = tuple(one for one in ids if isinstance(one, str) and one)
    return texts if len(set(texts)) == len(ids) else ()
