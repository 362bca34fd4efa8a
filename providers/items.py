"""From the items of a verified body to events: the same for every provider whose module says what an item means.

A provider's module reads one item into `Said`s; everything that must never differ between providers is here: one broken
item is parked and its neighbours go on, an event names exactly one recipient or removes nobody, ids carry the provider.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import MappingProxyType

from core.addresses import Address, NotAnAddress, normalise
from core.events import Event
from providers import outcome, payload
from providers.base import Normalised, Request
from providers.rules import Verdict

NO_TAGS: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Said:
    """What one item says about one recipient, with values as the provider wrote them unless said otherwise.

    `recipient` is whatever stands where the address should. `event_id` is stable over repeats of the same event
    (providers.payload makes such ids) and does not name the provider. `tags` may hold our own tags `mailward_env`,
    `mailward_campaign` and `mailward_recipient`. `single_use` is a proof that is good for one event only.
    """

    verdict: Verdict
    recipient: object
    event_id: str
    occurred_at: datetime
    provider_message_id: str = ""
    tags: Mapping[str, object] = field(default_factory=lambda: NO_TAGS)
    detail: str = ""
    single_use: str = ""


Batch = Callable[[bytes], Iterable[object]]
"""The items of a body, none where it says nothing. Raises payload.Unreadable: then the body is parked whole."""
Read = Callable[[dict[str, object], datetime], Iterable[Said]]
"""What an item (a JSON object) means, given when its body was received; nothing where it means nothing. Raises
payload.Unreadable: then that item is parked, and its neighbours go on."""


def normalised(provider: str, batch: Batch, read: Read, keep_local_case: bool, request: Request) -> Normalised:
    """The outcome of every item of a verified body, in their order. Never raises where `batch` and `read` do not."""
    try:
        items = batch(request.body)
    except payload.Unreadable as error:
        return outcome.parked(outcome.WHOLE_BODY, str(error))
    return outcome.merged(_outcomes(provider, request, items, read, keep_local_case))


def _outcomes(
    provider: str, request: Request, items: Iterable[object], read: Read, keep_local_case: bool
) -> Iterator[tuple[int, Normalised]]:
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            yield index, outcome.parked(index, "the item is not a JSON object")
            continue
        try:
            said = tuple(read(item, request.received_at))
        except payload.Unreadable as error:
            yield index, outcome.parked(index, str(error))
            continue
        for one in said:
            recipient = partial(_address, one.recipient, keep_local_case)
            yield index, outcome.about_one(one.verdict, recipient, partial(_event, provider, request, one), index)


def _address(written: object, keep_local_case: bool) -> Address:
    if isinstance(written, list):
        raise NotAnAddress("several addresses" if len(written) > 1 else "a list instead of an address")
    if not isinstance(written, str):
        raise NotAnAddress("there is no address" if written is None else "the address is not a text")
    return normalise(written, keep_local_case=keep_local_case)


def _event(provider: str, request: Request, said: Said, recipient: Address) -> Event:
    return Event(
        event_id=f"{provider}:{said.event_id}",
        provider=provider,
        kind=said.verdict.kind,
        recipient=recipient.normal,
        recipient_verbatim=recipient.verbatim,
        occurred_at=said.occurred_at,
        received_at=request.received_at,
        rule=said.verdict.rule,
        provider_message_id=said.provider_message_id,
        campaign_id=payload.tag_value(said.tags.get("mailward_campaign")),
        recipient_id=payload.tag_value(said.tags.get("mailward_recipient")),
        environment=payload.tag_value(said.tags.get("mailward_env")),
        detail=said.detail,
        single_use=said.single_use,
    )
