"""Hundreds of hostile bodies for every provider: nothing raises, nothing unclean leaves, nobody is removed without
evidence. `make fuzz` posts 100,000 of the same kind at the endpoint."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.fuzz.clean import unclean
from bench.fuzz.documented import DOCUMENTED, evidence
from bench.fuzz.evidence import Evidence, justified
from bench.fuzz.grammar import bodies
from config.settings import load
from core.addresses import NotAnAddress, normalise
from core.events import Kind
from providers import registry
from providers.base import Normalised, Provider, Request
from providers.reading import reader
from tests.unit.providers.payloads import PAYLOADS, RECEIVED_AT, posted, recorded

PROVIDERS: dict[str, Provider] = {name: reader(name, load({})) for name in registry.known_names()}
EVERY_PAYLOAD = [(name, path.name) for name in PROVIDERS for path in sorted((PAYLOADS / name).iterdir())]
SLOWLY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # other tests may run beside these

odd_text = st.text(alphabet=st.characters(exclude_categories=()))  # lone surrogates and controls included


def assert_harmless(provider: str, body: bytes, said: Normalised) -> None:
    found = evidence(provider, body)
    for event in said.events:
        assert unclean(event) == []
        assert event.received_at == RECEIVED_AT
        assert justified(event, found)
    for item in said.parked:
        assert item.reason.isascii()
        assert len(item.reason) <= 120


def certain(found: list[Evidence]) -> set[tuple[Kind, str]]:
    """Those of `found` that are about exactly one address, in its normal form."""
    pairs = set()
    for one in found:
        try:
            pairs.add((one.kind, normalise(one.about).normal))
        except NotAnAddress:
            continue
    return pairs


@pytest.mark.parametrize("provider", PROVIDERS)
@settings(SLOWLY, max_examples=300)
@given(data=st.data())
def test_a_hostile_body_never_raises_and_removes_nobody_without_evidence(provider: str, data: st.DataObject) -> None:
    body = data.draw(bodies(provider))

    assert_harmless(provider, body, PROVIDERS[provider].normalise(posted(body)))


@pytest.mark.parametrize("provider", PROVIDERS)
@SLOWLY
@given(body=st.binary())
def test_arbitrary_bytes_say_nothing_of_anybody(provider: str, body: bytes) -> None:
    assert PROVIDERS[provider].normalise(posted(body)).events == ()


@pytest.mark.parametrize(("provider", "payload"), EVERY_PAYLOAD)
def test_everybody_is_removed_about_whom_a_recorded_payload_holds_evidence_and_nobody_else(
    provider: str, payload: str
) -> None:
    body = (PAYLOADS / provider / payload).read_bytes()
    removed = {
        (event.kind, event.recipient) for event in PROVIDERS[provider].normalise(posted(body)).events if event.removes
    }

    assert removed == certain(evidence(provider, body))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_some_recorded_payloads_of_every_provider_hold_evidence(provider: str) -> None:
    assert any(evidence(provider, path.read_bytes()) for path in (PAYLOADS / provider).iterdir())


def test_what_every_provider_documents_is_written_down() -> None:
    assert DOCUMENTED.keys() == registry.PROVIDERS.keys()


@pytest.mark.parametrize("provider", ["resend", "cloudflare"])
@SLOWLY
@given(headers=st.dictionaries(st.sampled_from(["svix-id", "webhook-id"]), odd_text))
def test_odd_ids_in_the_headers_make_clean_stable_event_ids(provider: str, headers: dict[str, str]) -> None:
    name = {"resend": "complained", "cloudflare": "without_event_id"}[provider]
    request = Request(headers, recorded(provider, name), RECEIVED_AT)
    once, again = (PROVIDERS[provider].normalise(request).events[0] for _ in range(2))

    assert unclean(once) == []
    assert once == again
