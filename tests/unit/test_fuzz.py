"""The fuzzing itself: it notices a crash and a removal without evidence, and is content with the product as it is."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bench import provider_posts
from bench.fuzz.campaign import Campaign, Tally
from bench.fuzz.clean import unclean
from bench.fuzz.evidence import Evidence, justified
from bench.fuzz.shapes import PAYLOADS, recorded
from core.addresses import normalise
from core.clock import utc_now
from core.events import Event, Kind
from providers import registry
from providers.base import Normalised, Request
from providers.brevo import brevo
from tests.system import event

JANE = "jane.doe@example.com"
SPAM = b'{"event":"spam","email":"jane.doe@example.com","ts_epoch":1795390872126}'


def tally_of(body: bytes, read: Callable[[Request], Normalised]) -> Tally:
    """What is counted of `body` where Brevo's own reading is replaced by `read`."""
    campaign = Campaign({"brevo": replace(brevo(provider_posts.SECRET), read=read)})
    campaign.post("brevo", body)
    return campaign.tallies["brevo"]


def removal(kind: Kind = Kind.COMPLAINT, recipient: str = JANE) -> Event:
    return event(kind=kind, recipient=recipient)


def test_a_provider_that_raises_is_counted_as_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    def read(_request: Request) -> Normalised:
        raise KeyError("event")

    assert tally_of(SPAM, read) == Tally(bodies=1, crashes=1)
    assert "brevo: answered 429, 0 messages" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        removal(recipient="john@example.org"),
        removal(kind=Kind.HARD_BOUNCE),
        replace(removal(), recipient="john@example.org"),
        replace(removal(), recipient_verbatim="john@example.org"),
    ],
)
def test_a_removal_that_the_body_does_not_justify_is_counted(wrong: Event, capsys: pytest.CaptureFixture[str]) -> None:
    tally = tally_of(SPAM, lambda _request: Normalised(events=(removal(), wrong)))

    assert tally == Tally(bodies=1, accepted=1, events=2, removals=2, unjustified_removals=1)
    assert "test.rule removes" in capsys.readouterr().err


def test_an_event_that_could_not_be_stored_is_counted_as_a_crash(capsys: pytest.CaptureFixture[str]) -> None:
    tally = tally_of(SPAM, lambda _request: Normalised(events=(replace(removal(), detail="x" * 2000),)))

    assert (tally.crashes, tally.unjustified_removals) == (1, 0)
    assert "whose detail cannot be stored" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("campaign_id", "a\x00b"),
        ("detail", "\ud800"),
        ("environment", "x" * 400),
        ("event_id", "\u00fc" * 200),
        ("occurred_at", utc_now()),
    ],
)
def test_a_field_that_could_not_be_stored_is_named(field: str, value: object) -> None:
    assert unclean(removal()) == []
    assert unclean(replace(removal(), **{field: value})) == [field]


@pytest.mark.parametrize("name", registry.known_names())
def test_every_recorded_payload_is_posted_and_most_are_accepted(name: str) -> None:
    campaign = Campaign(provider_posts.made())
    for one in recorded(name):
        campaign.post(name, one.write(one.structure(), True))
    tally = campaign.tallies[name]

    assert tally.bodies == len(list((PAYLOADS / name).iterdir()))
    assert tally.accepted > 0.8 * tally.bodies
    assert (tally.accepted + tally.refused, tally.crashes, tally.unjustified_removals) == (tally.bodies, 0, 0)
    assert tally.removals > 0


@pytest.mark.parametrize("name", registry.known_names())
def test_a_payload_that_nobody_changed_is_written_so_that_it_says_the_same(name: str) -> None:
    provider, now = provider_posts.made()[name], utc_now()
    for one in recorded(name):
        as_recorded, as_written = (PAYLOADS / name / one.name).read_bytes(), one.write(one.structure(), False)
        said, again = (
            provider.normalise(Request({"svix-id": "msg_1"}, body, now)) for body in (as_recorded, as_written)
        )
        assert said == again, one.name


@pytest.mark.parametrize(
    "written",
    [JANE, f"Jane <{JANE}>", f'"{JANE}" <{JANE}>', f" <{JANE.upper()}>\t", f'"Doe, Jane" <{JANE}>', f"Jané <{JANE}>"],
)
def test_evidence_justifies_the_removal_of_the_address_that_it_is_about(written: str) -> None:
    address = normalise(written)
    one = event(recipient=address.normal, verbatim=address.verbatim)

    assert justified(one, [Evidence(Kind.COMPLAINT, written)])


@pytest.mark.parametrize(
    "written",
    [
        "",
        "doe@example.com",
        f"x{JANE}",
        f"{JANE}.example.org",
        f"{JANE}, john@example.org",
        f"<{JANE}> <john@example.org>",
        f'"john@example.org" <{JANE}>',
        f"{JANE} <john@example.org>",
        "jane.doe@ex\u0430mple.com",
    ],
)
def test_evidence_about_somebody_else_or_several_justifies_nothing(written: str) -> None:
    assert not justified(event(recipient=JANE), [Evidence(Kind.COMPLAINT, written)])


def test_an_event_that_removes_nobody_needs_no_evidence() -> None:
    assert justified(event(kind=Kind.DELIVERED), [])
