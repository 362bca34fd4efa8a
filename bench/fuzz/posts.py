"""A body as its provider would post it: with a genuine proof, wherever one can be made for it."""

import json
from datetime import UTC, datetime

from bench import key_pairs
from bench.provider_posts import AWS_CERTIFICATE, AWS_TOPIC, SCALEWAY_CERTIFICATE, SCALEWAY_TOPIC
from providers.base import Post, Provider
from providers.sns_envelope import Signer

# Whose events SNS wraps → topic, and where the certificate of its key is.
SNS = {"ses": (AWS_TOPIC, AWS_CERTIFICATE), "scaleway": (SCALEWAY_TOPIC, SCALEWAY_CERTIFICATE)}


def post(provider: Provider, body: bytes, message_id: str, now: datetime) -> Post:
    """`body` of `provider` (one of bench.provider_posts.made), proven; as it is where no proof can be made for it."""
    try:
        if provider.name in SNS and (fields := _envelope(body)) is not None:
            topic, certificate = SNS[provider.name]
            fields |= {"TopicArn": topic, "Timestamp": now.astimezone(UTC).isoformat()}
            return Post({}, Signer(key_pairs.rsa_2048(), certificate).seal(fields))
        if provider.name == "mailgun" and body.startswith(b"--"):
            return Post({}, _multipart_signed(provider, body, message_id, now))
        return provider.sign(body, message_id, now)
    except ValueError:
        return Post({}, body)


def _envelope(body: bytes) -> dict[str, str] | None:
    """The envelope that `body` is already; else None."""
    try:
        fields = json.loads(body)
    except RecursionError:
        return None
    return fields if isinstance(fields, dict) and {"Type", "Message"} & fields.keys() else None


def _multipart_signed(provider: Provider, body: bytes, message_id: str, now: datetime) -> bytes:
    """The last value of a field of the proof is Mailgun's own, so new ones go behind all others."""
    proof = json.loads(provider.sign(b"{}", message_id, now).body)["signature"]
    boundary = body.partition(b"\r\n")[0]
    before, end, after = body.rpartition(boundary + b"--")
    parts = [
        b'%b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (boundary, name.encode(), value.encode())
        for name, value in proof.items()
    ]
    return before + b"".join(parts) + end + after
