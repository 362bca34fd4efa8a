"""The envelope in which SNS wraps what was published: which fields are signed, and how they are written for that.

Sources: Amazon SNS Developer Guide, "Verifying the signatures of Amazon SNS messages", "Message and JSON formats". The
headers `x-amz-sns-…` and every field that is not listed here are unsigned: nothing may depend on them.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa

from providers import payload
from providers.public_keys import signed

NOTIFICATION = "Notification"
SUBSCRIPTION = "SubscriptionConfirmation"
UNSUBSCRIPTION = "UnsubscribeConfirmation"

_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_SIGNED = {
    NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    SUBSCRIPTION: _CONFIRMATION,
    UNSUBSCRIPTION: _CONFIRMATION,
}
# By the text of SignatureVersion, which is unsigned: one digest for each version, and no other is tried.
ALGORITHMS: Mapping[str, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}  # noqa: S303


def envelope(body: bytes) -> dict[str, object] | None:
    """The envelope that `body` is; None where it is none: raw message delivery, or nothing of SNS at all."""
    try:
        fields = payload.read_object(body)
    except payload.Unreadable:
        return None
    return fields if "Type" in fields or "Message" in fields else None


def signed_bytes(fields: Mapping[str, object]) -> bytes | None:
    """What the signature of an envelope covers: names and decoded values of its fields, a line each, as UTF-8.

    Subject is left out where it is absent or null. None where a field is missing or not a text, or the Type unknown.
    """
    kind = fields.get("Type")
    names = _SIGNED.get(kind) if isinstance(kind, str) else None
    if names is None:
        return None
    lines = []
    for name in names:
        value = fields.get(name)
        if name == "Subject" and value is None:
            continue
        if not isinstance(value, str):
            return None
        lines.append(f"{name}\n{value}\n")
    return "".join(lines).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Notice:
    """What was published: its bytes, and of the envelope the id (the same in retries) and time, None where there is
    no envelope; values as they were written."""

    message: bytes
    message_id: object = None
    published_at: object = None

    def event(self, _body: bytes) -> tuple[object]:
        """The one item of the post (providers.items.Batch): the JSON that was published. Raises payload.Unreadable."""
        return (payload.read_json(self.message),)


@dataclass(frozen=True, slots=True)
class Signer:
    """A key of our own, for tests, and the URL at which its certificate is served: the real keys are the vendor's."""

    key: rsa.RSAPrivateKey
    certificate_url: str

    def seal(self, fields: Mapping[str, str], version: str = "2") -> bytes:
        """The envelope of `fields` with its signature. Raises ValueError where a field that is signed is missing."""
        content = signed_bytes(fields)
        if content is None:
            raise ValueError("an envelope has a known Type, and all fields that are signed for it")
        signature = base64.b64encode(signed(self.key, content, ALGORITHMS[version])).decode()
        proof = {"SignatureVersion": version, "Signature": signature, "SigningCertURL": self.certificate_url}
        return json.dumps({**fields, **proof}).encode()
