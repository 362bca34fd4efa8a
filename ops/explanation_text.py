"""An explained body as people and machines read it. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from core.events import Event
from ops.explanation import Explained, policy
from ops.letter_text import printable
from providers.outcome import WHOLE_BODY

NOTHING = "nothing to queue: a ping, a handshake or an empty batch; answered 200 once its proof is right"


def lines(provider: str, proof: str, items: Sequence[Explained], confirm_url: str) -> Iterator[str]:
    """The lines of `mailward classify`."""
    yield f"{provider}: {summary(items)}"
    yield f"proof skipped: not looked at here; a real post needs {proof}"
    if confirm_url:
        yield printable(f"would call {confirm_url}, once, to confirm the subscription")
    for item in items:
        yield printable(_title(item))
        yield from (printable(f"  {name:<10}{text}") for name, text in _fields(item) if text)


def document(provider: str, items: Sequence[Explained], confirm_url: str) -> dict[str, Any]:
    """The document of `mailward classify --json`."""
    return {
        "provider": provider,
        "proof": "skipped",
        "confirm_url": confirm_url or None,
        "items": [_as_json(item) for item in items],
    }


def summary(items: Sequence[Explained]) -> str:
    """How many items come to what."""
    effects: Counter[str] = Counter()
    for item in items:
        effects[item.effect.value] += item.n
    return ", ".join(f"{n:,} to {effect}" for effect, n in effects.items()) or NOTHING


def _title(item: Explained) -> str:
    where = "the body" if item.index == WHOLE_BODY else f"item {item.index}"
    what = "not understood" if item.kind is None else item.kind.value
    whom = f" of {item.event.recipient}" if item.event and item.event.recipient else ""
    many = f", {item.n:,} times" if item.n > 1 else ""
    return f"{where}: {what}{whom}{many}"


def _fields(item: Explained) -> Iterator[tuple[str, str]]:
    note = f" ({item.rule.note})" if item.rule.note else ""
    yield "rule", f"{item.rule.name}{note}"
    yield "switch", policy(item)
    if event := item.event:
        yield "event id", event.event_id
        yield "time", f"{event.occurred_at.isoformat()}{'' if _tells_time(event) else ' (now: the item tells none)'}"
        yield "written", event.recipient_verbatim if event.recipient_verbatim != event.recipient else ""
        yield "campaign", event.campaign_id
        yield "recipient", event.recipient_id
        yield "detail", event.detail
    yield item.effect.value, item.says


def _as_json(item: Explained) -> dict[str, Any]:
    event = item.event
    return {
        "index": item.index,
        "kind": item.kind and item.kind.value,
        "rule": item.rule.name or None,
        "note": item.rule.note or None,
        "switch": policy(item) or None,
        "recipient": (event and event.recipient) or None,
        "recipient_verbatim": (event and event.recipient_verbatim) or None,
        "event_id": event and event.event_id,
        "occurred_at": event and event.occurred_at.isoformat(),
        "campaign_id": (event and event.campaign_id) or None,
        "recipient_id": (event and event.recipient_id) or None,
        "effect": item.effect.value,
        "says": item.says,
        "n": item.n,
    }


def _tells_time(event: Event) -> bool:
    """False where the time of receipt stands in for one that is missing, unreadable or in the future."""
    return event.occurred_at != event.received_at
