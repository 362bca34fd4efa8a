"""Whom a Resend event is about, and what our own tags say.

`data.to` is the whole list of the message's recipients: an event of a mail to several does not say whose it is. So only
a single recipient is affected, or the one that our tag `mailward_to` names. Sources: django-anymail's notes on its
Resend webhook; Resend's OpenAPI file, which knows no field for the affected recipient.
"""

from collections.abc import Mapping

from core.addresses import Address, NotAnAddress, digest, normalise
from core.ledger.tags import OWN, TO
from providers import payload
from providers.conditions import comparable, found

NAMES_ITS_ADDRESS = frozenset({"suppression.added", "contact.updated"})  # about an address, not about a mail
MOST_RECIPIENTS = 150  # 50 each in to, cc and bcc is Resend's limit; more is nothing that Resend writes


def affected(body: Mapping[str, object], *, keep_local_case: bool) -> Address:
    """The one address that the event names as affected. Raises NotAnAddress where there is not exactly one."""
    if comparable(body.get("type")) in NAMES_ITS_ADDRESS:
        return _address(found(body, "data.email"), keep_local_case)
    to, copies = _entries(body, "to"), [*_entries(body, "cc"), *_entries(body, "bcc")]
    if len(to) == 1 and not copies:
        return _address(to[0], keep_local_case)
    if not to and not copies:
        raise NotAnAddress("no recipient at all")
    named = own_tags(body)[TO]
    if not named or len(to) + len(copies) > MOST_RECIPIENTS:
        raise NotAnAddress("several recipients, and no tag of ours says which")
    matching = {one.normal: one for one in _readable([*to, *copies], keep_local_case) if digest(one.normal) == named}
    if len(matching) != 1:
        raise NotAnAddress("several recipients, and our tag names none of them")
    return next(iter(matching.values()))


def own_tags(body: Mapping[str, object]) -> dict[str, str]:
    """Our own tags of the mail, an empty text for each that is missing; `data.tags` is an object or a list of pairs."""
    tags = found(body, "data.tags")
    if isinstance(tags, list):
        pairs = (one for one in tags if isinstance(one, dict))
        tags = {name: one.get("value") for one in pairs if isinstance(name := one.get("name"), str)}
    if not isinstance(tags, dict):
        return dict.fromkeys(OWN, "")
    return {name: payload.tag_value(tags.get(name)) for name in OWN}


def _entries(body: Mapping[str, object], field: str) -> list[object]:
    value = found(body, f"data.{field}")
    if isinstance(value, list):
        return value
    return [value] if value else []


def _readable(entries: list[object], keep_local_case: bool) -> list[Address]:
    addresses = []
    for entry in entries:
        try:
            addresses.append(_address(entry, keep_local_case))
        except NotAnAddress:
            continue  # another recipient's entry: the tag decides, and it cannot name what is no address
    return addresses


def _address(entry: object, keep_local_case: bool) -> Address:
    if not isinstance(entry, str):
        raise NotAnAddress("no recipient at all" if entry is None else "not a text")
    return normalise(entry, keep_local_case=keep_local_case)
