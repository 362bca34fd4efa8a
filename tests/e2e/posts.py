"""Webhook posts as the providers make them, written from their documentation and not from our code."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

SECRETS = {
    "resend": "whsec_" + base64.b64encode(b"the made-up secret of Resend").decode(),
    "cloudflare": "whsec_" + base64.b64encode(b"the made-up secret of the Worker").decode(),
}
SETTINGS = {"RESEND_WEBHOOK_SECRETS": SECRETS["resend"], "CLOUDFLARE_WEBHOOK_SECRETS": SECRETS["cloudflare"]}
PREFIX = {"resend": "svix", "cloudflare": "webhook"}

Headers = Sequence[tuple[str, str | bytes]]


def resend(kind: str, to: Any, **data: Any) -> dict[str, Any]:
    """A body as Resend posts it; `kind` is the last word of the type."""
    data = {"email_id": "made-up-mail", "from": "News <news@example.org>", "subject": "News", "to": to} | data
    return {"type": f"email.{kind}", "created_at": "2026-11-22T23:41:12.126Z", "data": data}


def resend_bounce(to: Any, **bounce: Any) -> dict[str, Any]:
    """A hard bounce of Resend; `bounce` changes members of its bounce object."""
    return resend("bounced", to, bounce={"type": "Permanent", "subType": "General", "message": "no such user"} | bounce)


def cloudflare(kind: str, recipient: Any, **payload: Any) -> dict[str, Any]:
    """A body as the Worker forwards it from Cloudflare, with the signed id for its event's id."""
    return {
        "type": f"cf.email.sending.message.{kind}",
        "source": {"type": "email.sending", "zoneId": "zone-1", "domain": "example.org"},
        "payload": {"messageId": "made-up-mail", "recipient": recipient} | payload,
        "metadata": {"accountId": "account-1", "eventSchemaVersion": 1, "eventTimestamp": "2026-11-22T23:41:12.126Z"},
    }


def cloudflare_bounce(recipient: Any, **bounce: Any) -> dict[str, Any]:
    """A hard bounce of Cloudflare; `bounce` changes members of its bounce object."""
    return cloudflare("bounced", recipient, bounce={"type": "hard", "classification": "permanent_failure"} | bounce)


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """The signature of Standard Webhooks: HMAC-SHA256 over id, timestamp and body, joined by dots."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = message_id.encode("latin-1") + b"." + timestamp.encode() + b"." + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def signed(
    provider: str, body: bytes, message_id: str, *, age_s: int = 0, secret: str = "", prefix: str = ""
) -> list[tuple[str, str | bytes]]:
    """The headers of a genuine post, or of one that is old (`age_s`) or signed with another secret."""
    prefix, timestamp = prefix or PREFIX[provider], str(int(time.time()) - age_s)
    return [
        (f"{prefix}-id", message_id),
        (f"{prefix}-timestamp", timestamp),
        (f"{prefix}-signature", signature(secret or SECRETS[provider], message_id, timestamp, body)),
    ]


@dataclass(frozen=True)
class Answer:
    """What a post was answered: the status, and the counts of a 200."""

    status: int
    said: dict[str, Any]

    @property
    def accepted(self) -> int:
        """Items that mailward has taken responsibility for."""
        return int(self.said.get("queued", 0)) + int(self.said.get("parked", 0))


class Door:
    """The webhook addresses of a running web process; headers leave as they are given, odd and doubled ones too."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=30)

    def post(self, provider: str, body: bytes, headers: Headers) -> Answer:
        """Post once; a connection that the server closed after its last answer is made anew."""
        try:
            return self._post(provider, body, headers)
        except (HTTPException, ConnectionError):
            self._connection.close()
            return self._post(provider, body, headers)

    def close(self) -> None:
        self._connection.close()

    def _post(self, provider: str, body: bytes, headers: Headers) -> Answer:
        self._connection.putrequest("POST", f"/webhooks/{provider}", skip_accept_encoding=True)
        given = {"content-type": "application/json"} if "content-type" not in dict(headers) else {}
        for name, value in [*given.items(), ("content-length", str(len(body))), *headers]:
            self._connection.putheader(name, value)
        self._connection.endheaders(body)
        response = self._connection.getresponse()
        said = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return Answer(response.status, json.loads(said) if is_json else {})
