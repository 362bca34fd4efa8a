"""One message of a Cloudflare Queue as its REST API hands it out, and the bytes that were put into the queue.

Source: the Cloudflare documentation, "Pull consumers": bodies of content type json and bytes come as base64, those of
type text plain, and v8 means nothing outside Workers. Which type event subscriptions write is nowhere said, and the
samples of that page show plain bodies under json, so the content type is only asked where the body leaves a doubt.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime

from providers import payload
from providers.conditions import comparable, found

CONTENT_TYPE = "cf-content-type"  # in a parked message: how the body was said to be encoded


@dataclass(frozen=True, slots=True)
class Pulled:
    """A message that is leased to us: `lease_id` settles it, `attempts` counts its deliveries, this one included.

    `queued_at` is when the queue took it (aware UTC), and `body` what the API gave, whatever that was.
    """

    lease_id: str
    content_type: str
    body: object
    queued_at: datetime
    attempts: int

    def content(self) -> bytes:
        """The bytes that were put into the queue. Raises payload.Unreadable, with a short reason."""
        if isinstance(self.body, dict):
            return self.raw()
        if not isinstance(self.body, str):
            raise payload.Unreadable("the queue message has no body")
        if self.content_type == "text" or self.body.lstrip().startswith("{"):  # no base64 begins with a brace
            return self.raw()
        if self.content_type == "v8":
            raise payload.Unreadable("the queue message is of content type v8, which only Workers can read")
        try:
            return base64.b64decode(self.body, validate=True)
        except (binascii.Error, ValueError):
            raise payload.Unreadable(f"the queue message is not base64 ({self.content_type or 'no type'})") from None

    def raw(self) -> bytes:
        """The body as the API gave it, to be kept where nobody understands it."""
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode("utf-8", "surrogatepass")


def leased(item: object, now: datetime) -> Pulled | None:
    """The message that `item` of a pull's answer is; None without a lease, since nothing can be settled then."""
    lease_id = found(item, "lease_id")
    if not isinstance(lease_id, str) or not lease_id:
        return None
    attempts = found(item, "attempts")
    return Pulled(
        lease_id=lease_id,
        content_type=comparable(found(item, "metadata.CF-Content-Type")) or "",
        body=found(item, "body"),
        queued_at=payload.unix_moment(found(item, "timestamp_ms"), now),
        attempts=attempts if type(attempts) is int else 1,
    )
