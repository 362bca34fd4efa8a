"""The four tags that mailward puts on every mail, by which the provider's events find their way back to the ledger.

Resend allows A-Z a-z 0-9 _ - in names and values, 256 characters each (its documentation of tags), so an address goes
as its digest, and a recipient id that does not fit is written in a form that does.
"""

import base64
import hashlib
import re

ENVIRONMENT = "mailward_env"
CAMPAIGN = "mailward_campaign"
RECIPIENT = "mailward_recipient"
TO = "mailward_to"  # core.addresses.digest of the normal address
OWN = (ENVIRONMENT, CAMPAIGN, RECIPIENT, TO)
PREFIX = "mailward_"

LONGEST_ID = 200  # characters of a recipient id

_ENCODED = "mw64-"
_HASHED = "mwsha-"
_FITS = re.compile(r"[A-Za-z0-9_-]{1,256}")
_LONGEST_ENCODED = 186  # bytes: 248 characters of base64, and room for the mark


def fits(text: str) -> bool:
    """Whether `text` may be the name or the value of a tag."""
    return _FITS.fullmatch(text) is not None


def tag_of(recipient_id: str) -> str:
    """The tag value of a recipient id: the id itself where it fits, else an encoded or, as the last resort, hashed one.

    No two ids have the same tag. An id that holds an @ is hashed: an address must not stand in a tag, encoded or not.
    """
    if len(recipient_id) <= LONGEST_ID and fits(recipient_id) and not recipient_id.startswith((_ENCODED, _HASHED)):
        return recipient_id
    raw = recipient_id.encode()
    if "@" in recipient_id or len(raw) > _LONGEST_ENCODED:
        return _HASHED + hashlib.sha256(raw).hexdigest()
    return _ENCODED + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def id_of(tag: str) -> str | None:
    """The recipient id whose tag this is; None where it was hashed, or `tag` is none of ours.

    The delivery of a hashed one is found by its campaign and address, and confirmed by `tag_of` of its id.
    """
    if tag.startswith(_ENCODED):
        code = tag.removeprefix(_ENCODED)
        try:
            recipient_id = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True).decode()
        except ValueError:
            return None
    else:
        recipient_id = tag
    return recipient_id if recipient_id and tag_of(recipient_id) == tag else None
