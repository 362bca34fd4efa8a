"""Sends through Resend: `POST /emails/batch` with an Idempotency-Key.

Sources: resend/resend-openapi (batch of at most 100, tags as pairs), resend.com/docs/dashboard/emails/idempotency-keys
(the header is `Idempotency-Key`; a key is remembered for 24 hours), resend.com/changelog/batch-validation-modes.
"""

import hashlib
import json
import re
from dataclasses import replace

from core.clock import utc_now
from core.ledger.states import Happening
from sender.clients import resend_answers
from sender.clients.base import Answer, Capabilities
from sender.clients.transport import Transport, Unanswered, Unsent
from sender.mail import Mail

BASE_URL = "https://api.resend.com"
CONNECT_S = 3.0
TOTAL_S = 20.0  # well under the lease of 120 s: who holds the lease still holds it when the call has ended
POOL_SIZE = 16  # connections; Resend allows a few calls a second, so that this is never what limits

_API_KEY = re.compile(r"[!-~]+")
_IDEMPOTENCY_KEY = re.compile(r"[A-Za-z0-9._-]{1,256}")
_BETWEEN = b',{"from":'  # see mails_in


class Resend:
    """Resend's send API as the account of `api_key`; see sender.clients.base.Client.

    Raises ValueError for a key that cannot stand in a header and a base URL that is none.
    """

    name = "resend"
    capabilities = Capabilities(key_window_s=24 * 3600, batch_limit=100, returns_ids=True)

    def __init__(
        self,
        api_key: str,
        base_url: str = BASE_URL,
        connect_timeout_s: float = CONNECT_S,
        total_timeout_s: float = TOTAL_S,
        pool_size: int = POOL_SIZE,
    ) -> None:
        if not _API_KEY.fullmatch(api_key):
            raise ValueError("the API key must be printable ASCII without blanks")
        if not re.match(r"https?://[^/\s]", base_url):
            raise ValueError("the base URL must begin with http:// or https:// and a host")
        self._api_key = api_key
        self._url = f"{base_url.rstrip('/')}/emails/batch"
        self._transport = Transport(connect_timeout_s, total_timeout_s, pool_size)
        self.account = hashlib.sha256(f"{api_key}\n{self._url}".encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Resend(account={self.account!r})"

    def fragment(self, mail: Mail) -> bytes:
        """See Client.fragment. Raises ValueError (UnicodeEncodeError) for a text that has no UTF-8."""
        fields: dict[str, object] = {"from": mail.sender, "to": [mail.to], "subject": mail.subject}
        optional = {
            "html": mail.html,
            "text": mail.text,
            "reply_to": mail.reply_to,
            "headers": dict(mail.headers),
            "tags": [{"name": name, "value": value} for name, value in mail.tags],
        }
        fields |= {name: value for name, value in optional.items() if value}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()

    def body(self, fragments: list[bytes]) -> bytes:
        """See Client.body."""
        # In one pass: a hundred mails are a megabyte, and to copy it takes longer than to hash it.
        parts = [part for fragment in fragments for part in (b",", fragment)]
        return b"".join([b"[", *parts[1:], b"]"])

    def call(self, body: bytes, idempotency_key: str) -> Answer:
        """See Client.call. Raises ValueError for a key outside the ledger's own alphabet."""
        if not _IDEMPOTENCY_KEY.fullmatch(idempotency_key):
            raise ValueError("an idempotency key is 1 to 256 of A-Z a-z 0-9 . _ -")
        headers = {
            "Authorization": f"Bearer {self._api_key}",
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
            "x-batch-validation": "strict",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "mailward",  # Resend refuses requests without one
        }
        try:
            reply = self._transport.post(self._url, body, headers)
        except Unsent as error:
            return self._without_key(Answer(Happening.NOT_SENT, error="not_connected", text=str(error)))
        except Unanswered as error:
            return self._without_key(Answer(Happening.AMBIGUOUS, error="no_answer", text=str(error)))
        answer = resend_answers.read(reply.status, reply.headers, reply.body, reply.whole, mails_in(body), utc_now())
        return self._without_key(answer)

    def _without_key(self, answer: Answer) -> Answer:
        # Answers are logged and stored; a provider or proxy may quote the credentials that it refuses.
        if self._api_key not in answer.text:
            return answer
        return replace(answer, text=answer.text.replace(self._api_key, "***"))


def mails_in(body: bytes) -> int:
    """How many mails a body made by `Resend.body` holds, without parsing a megabyte.

    Every mail begins with its sender, and after a comma nothing else in the body does: `headers` follow a colon, `tags`
    begin with their names, and within a text every quotation mark has a backslash before it.
    """
    return body.count(_BETWEEN) + 1
