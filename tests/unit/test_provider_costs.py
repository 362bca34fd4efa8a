"""The benchmark of proof and normal form: no provider is left out, and what is measured is what it should be."""

import pytest

from bench import provider_costs, provider_posts
from bench.provider_costs import Round
from core.clock import utc_now
from core.events import Event, Kind
from providers import registry
from providers.base import Request


def test_every_provider_of_the_registry_is_measured() -> None:
    assert provider_posts.made().keys() == registry.PROVIDERS.keys()


def events_of(name: str, start: int = 0) -> tuple[Event, ...]:
    """What comes of the post of provider `name`, which must be genuine and within its limit."""
    provider, now = provider_posts.made()[name], utc_now()
    post = provider_posts.hard_bounces(provider, now, start)
    request = Request(post.headers, post.body, now)
    assert provider.verify(request) == "1 of 1"
    assert len(post.body) <= provider.answers.body_limit
    said = provider.normalise(request)
    assert (said.parked, dict(said.counted)) == ((), {})
    return said.events


@pytest.mark.parametrize("name", registry.known_names())
def test_a_post_is_a_genuine_one_of_as_many_hard_bounces_as_the_provider_has_in_one(name: str) -> None:
    events = events_of(name)
    expected = provider_posts.BATCHES.get(name, 1)

    assert [event.kind for event in events] == [Kind.HARD_BOUNCE] * expected
    assert len({event.recipient for event in events}) == len({event.event_id for event in events}) == expected


def test_posts_with_other_numbers_are_about_other_people() -> None:
    first, second = (events_of("sendgrid", start) for start in (0, provider_posts.BATCHES["sendgrid"]))

    assert not {event.recipient for event in first} & {event.recipient for event in second}


def test_each_round_measures_every_provider() -> None:
    rounds = provider_costs.measure(rounds=2, events=1)

    assert rounds.keys() == registry.PROVIDERS.keys()
    assert {len(measured) for measured in rounds.values()} == {2}
    assert all(us > 0 for us in provider_costs.provider_us(rounds).values())


def test_a_cost_is_the_median_of_what_the_rounds_took_for_proof_and_normal_form_together() -> None:
    rounds = {"resend": [Round(1.0, 2.0), Round(1.0, 4.0), Round(100.0, 0.0)]}

    assert provider_costs.provider_us(rounds) == {"resend": 5.0}
