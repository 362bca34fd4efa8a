"""The unsubscribe token: says for which campaign and recipient it was made, and that it was we who made it.

Deterministic, because a mail that is rendered again must have the same bytes; URL-safe, because it stands in a link.
It has no end of life: a List-Unsubscribe link has to work for as long as somebody keeps the mail.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence

VERSION = "1"  # the first character of a token
_MAC_BYTES = 16  # 128 bits: nobody guesses one, and the link stays short
_CONTEXT = b"mailward unsubscribe 1\0"  # so that no other use of the same secret makes valid tokens


def make(secret: str, campaign_id: str, recipient_id: str) -> str:
    """The token of one recipient of one campaign: always the same. Raises ValueError for what cannot be signed."""
    if not secret or "\0" in campaign_id:
        raise ValueError("an unsubscribe token needs a secret, and a campaign id without a zero byte")
    payload = f"{campaign_id}\0{recipient_id}".encode()
    return VERSION + base64.urlsafe_b64encode(_mac(secret, payload) + payload).decode().rstrip("=")


def read(secrets: Sequence[str], token: str) -> tuple[str, str] | None:
    """Campaign id and recipient id of a token made with any of `secrets`; None if it was not, or is damaged."""
    if not token.isascii() or not token.startswith(VERSION):
        return None
    code = token.removeprefix(VERSION)
    try:
        raw = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return None
    mac, payload = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    # Every secret is tried, whichever matches: the time taken tells nothing.
    if not any([hmac.compare_digest(_mac(secret, payload), mac) for secret in secrets if secret]):
        return None
    campaign_id, _, recipient_id = payload.decode().partition("\0")
    return campaign_id, recipient_id


def _mac(secret: str, payload: bytes) -> bytes:
    return hmac.digest(secret.encode(), _CONTEXT + payload, hashlib.sha256)[:_MAC_BYTES]
