"""A thousand hostile bodies: nothing raises, nothing unclean leaves, nobody is removed whom the body does not name."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.addresses import NotAnAddress, normalise
from core.events import DETAIL_LIMIT, Event
from providers.base import Normalised, Provider
from providers.cloudflare import Cloudflare
from providers.resend import Resend
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.security_cases import SECRET

PROVIDERS: dict[str, Provider] = {"resend": Resend((SECRET,)), "cloudflare": Cloudflare((SECRET,))}
RECORDED = {name: [json.loads(recorded(name, one)) for one in sorted(names(name))] for name in PROVIDERS}
FIELDS = (
    "provider_message_id",
    "campaign_id",
    "recipient_id",
    "environment",
    "event_id",
    "recipient",
    "recipient_verbatim",
)

odd_text = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=())),  # lone surrogates and controls included
    st.sampled_from(
        ["a@example.com", "a@example.com, b@example.org", "Hard", "email.complained", "9999-12-31T23:59:59-14:00"]
    ),
    st.text("\x00\u202e\u2028x", min_size=1000, max_size=1200),
)
odd_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), odd_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(odd_text, inner, max_size=4)),
    max_leaves=8,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside `value`."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(value, key), *places(inner)]]


@st.composite
def bodies(draw: st.DrawFn, provider: str) -> bytes:
    """A recorded payload in which a few values have become something odd, dumped and sometimes damaged."""
    body = json.loads(json.dumps(draw(st.sampled_from(RECORDED[provider]))))
    for _ in range(draw(st.integers(0, 4))):
        container, key = draw(st.sampled_from(places(body)))
        container[key] = draw(odd_values)
    written = json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 4)):
        return written
    at = draw(st.integers(0, len(written)))
    return written[:at] + draw(st.binary(max_size=8)) + written[at + draw(st.integers(0, 3)) :]


def texts_in(value: Any) -> set[str]:
    found = {value} if isinstance(value, str) else set()
    return found.union(*(texts_in(container[key]) for container, key in places(value)))


def addresses_named_by(body: bytes) -> set[str]:
    named = set()
    for text in texts_in(json.loads(body)):
        try:
            named.add(normalise(text).normal)
        except NotAnAddress:
            continue
    return named


def assert_clean(event: Event) -> None:
    for field in FIELDS:
        value = getattr(event, field)
        assert len(value) <= 320
        assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", value)
    assert len(event.event_id.encode()) <= 255
    assert len(event.detail) <= DETAIL_LIMIT
    assert not re.search("[\x00-\x1f\x7f-\x9f\ud800-\udfff]", event.detail)
    assert event.occurred_at <= event.received_at == RECEIVED_AT


def assert_harmless(said: Normalised, body: bytes) -> None:
    assert len(said.events) + len(said.parked) + sum(said.counted.values()) == 1
    for event in said.events:
        assert_clean(event)
        assert event.recipient in addresses_named_by(body)
        if event.removes:
            kind_of_event = json.loads(body)["type"].lower()
            assert kind_of_event.endswith(("complained", "bounced"))


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(max_examples=500)
@given(data=st.data())
def test_a_damaged_payload_never_raises_and_never_removes_anybody_it_does_not_name(
    provider: str, data: st.DataObject
) -> None:
    body = data.draw(bodies(provider))

    assert_harmless(PROVIDERS[provider].normalise(posted(body)), body)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(body=st.binary())
def test_arbitrary_bytes_are_parked(provider: str, body: bytes) -> None:
    said = PROVIDERS[provider].normalise(posted(body))

    assert (said.events, len(said.parked)) == ((), 1)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(headers=st.dictionaries(st.sampled_from(["svix-id", "webhook-id"]), odd_text))
def test_odd_ids_in_the_headers_make_clean_stable_event_ids(provider: str, headers: dict[str, str]) -> None:
    name = {"resend": "complained", "cloudflare": "without_event_id"}[provider]
    request = posted(recorded(provider, name))
    request = type(request)(headers, request.body, request.received_at)
    once, again = (PROVIDERS[provider].normalise(request).events[0] for _ in range(2))

    assert_clean(once)
    assert once == again
