"""The scheme of Amazon SNS, and of services that speak it: a JSON envelope, signed with RSA.

A genuine signature only says "some topic of this vendor", and anybody can have one of those: the listed topics are the
authentication, and are looked up before anything is fetched. What a message names is never followed: the certificate's
URL must be one that its topic pins, and the URL that confirms a subscription is made here. Sources: Amazon SNS
Developer Guide, "Verifying the signatures of Amazon SNS messages", "Message delivery retries", "Dead-letter queues".

Decisions:

- Age. SNS prescribes no window and gives up after an hour, but a dead-letter queue (SQS) may keep a message for 14 days
  before somebody redrives it. So long it is accepted: a replay within that time changes nothing, for effects are
  idempotent, and an event older than a new consent never removes. An hour ahead is accepted too: a refusal loses the
  message for good, and a wrong clock is no forgery. The signature comes first: `stale` always means a genuine message.
- Raw message delivery has no envelope, so nothing to verify: it needs credentials of its own, or is refused.
- An UnsubscribeConfirmation carries a URL that would subscribe again. It is never called: the log tells, people decide.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from core.events import Kind
from providers import outcome
from providers.base import Normalised, Post, ProofRefused, Request
from providers.credentials import Credentials
from providers.public_keys import is_signed
from providers.signatures import Refusal, decode_base64, require_fresh
from providers.sns_certificates import Certificates
from providers.sns_envelope import (
    ALGORITHMS,
    NOTIFICATION,
    SUBSCRIPTION,
    UNSUBSCRIPTION,
    Notice,
    Signer,
    envelope,
    signed_bytes,
)
from providers.sns_topics import Pin, Topics

LONGEST_AGE = timedelta(days=14)
LONGEST_AHEAD = timedelta(hours=1)

logger = logging.getLogger(__name__)


class Sns:
    """Believes messages of `topics` alone, which stand for the secrets: verify says which one matched ("1 of 2").

    `raw` guards messages without an envelope; without it they are refused. `signer` is for tests; without it, and
    without `raw`, sign raises ValueError with the text `unsigned`.
    """

    def __init__(
        self,
        topics: Topics,
        certificates: Certificates,
        *,
        raw: Credentials | None = None,
        signer: Signer | None = None,
        unsigned: str = "",
    ) -> None:
        self._topics, self._certificates = topics, certificates
        self._raw, self._signer, self._unsigned = raw, signer, unsigned

    def verify(self, request: Request) -> str:
        """See Provider.verify."""
        fields = envelope(request.body)
        if fields is None:
            if self._raw is None:
                raise ProofRefused(Refusal.MISSING_HEADERS)
            return self._raw.verify(request)
        if "TopicArn" not in fields:
            raise ProofRefused(Refusal.MISSING_HEADERS)
        topic = self._topics.find(fields["TopicArn"])
        if topic is None:
            raise ProofRefused(Refusal.BAD_CREDENTIALS)
        self._check_signature(fields, topic.pin, request.received_at)
        _check_age(fields.get("Timestamp"), request.received_at)
        return topic.place

    def sign(self, body: bytes, message_id: str, sent_at: datetime) -> Post:
        """See Scheme.sign: `body` becomes the Message of a notification of the first topic, so it must be UTF-8."""
        if self._signer is None:
            if self._raw is None:
                raise ValueError(self._unsigned)
            return self._raw.sign(body, message_id, sent_at)
        fields = {
            "Type": NOTIFICATION,
            "MessageId": message_id,
            "TopicArn": self._topics.first,
            "Message": body.decode(),
            "Timestamp": sent_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        headers = {"content-type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": NOTIFICATION}
        return Post(headers, self._signer.seal(fields))

    def read(self, request: Request, message: Callable[[Notice], Normalised]) -> Normalised:
        """What a verified body says, `message` being asked of what was published. Never raises where that does not."""
        fields = envelope(request.body)
        if fields is None:
            return message(Notice(request.body))
        kind, text = fields.get("Type"), fields.get("Message")
        if kind == SUBSCRIPTION:
            return Normalised(confirm_url=self._topics.confirm_url(fields.get("TopicArn"), fields.get("Token")))
        if kind == UNSUBSCRIPTION:
            logger.warning("a topic has unsubscribed this endpoint; it was not subscribed again", extra={"type": kind})
            return Normalised(counted={Kind.OTHER: 1})
        if kind != NOTIFICATION or not isinstance(text, str):
            return outcome.parked(outcome.WHOLE_BODY, "the envelope holds no notification")
        published = text.encode("utf-8", "surrogatepass")
        return message(Notice(published, fields.get("MessageId"), fields.get("Timestamp")))

    def _check_signature(self, fields: Mapping[str, object], pin: Pin, now: datetime) -> None:
        content, signature = signed_bytes(fields), fields.get("Signature")
        url = fields.get("SigningCertURL", fields.get("SigningCertUrl"))  # Lambda spells it the second way
        if content is None or not isinstance(signature, str) or not isinstance(url, str):
            raise ProofRefused(Refusal.MISSING_HEADERS)
        version = fields.get("SignatureVersion")
        algorithm = ALGORITHMS.get(version) if isinstance(version, str) else None
        presented = decode_base64(signature)
        if algorithm is None or not presented or not pin.certificates.fullmatch(url):
            raise ProofRefused(Refusal.BAD_SIGNATURE)
        key = self._certificates.key(url, pin.issuers, now)
        if not is_signed(key, content, presented, algorithm):
            raise ProofRefused(Refusal.BAD_SIGNATURE)


def _check_age(timestamp: object, now: datetime) -> None:
    try:
        read = datetime.fromisoformat(timestamp if isinstance(timestamp, str) else "")
    except ValueError:
        raise ProofRefused(Refusal.MALFORMED_TIMESTAMP) from None
    age = now - (read if read.tzinfo else read.replace(tzinfo=UTC))
    require_fresh(age.total_seconds(), LONGEST_AGE.total_seconds(), LONGEST_AHEAD.total_seconds())
