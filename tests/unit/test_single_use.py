"""What makes two events the same in the eyes of a proof that is good for one, and how the proof travels."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core import wire
from core.events import Kind
from core.single_use import claim_of, firsts
from tests.system import event

EVENT = replace(
    event(1),
    single_use="mailgun:t",
    provider_message_id="m-1",
    campaign_id="spring",
    recipient_id="r-1",
    environment="production",
)


@pytest.mark.parametrize(
    "changes",
    [
        {"event_id": "mailgun:other"},
        {"kind": Kind.HARD_BOUNCE},
        {"recipient": "ceo@example.org"},
        {"recipient_verbatim": "Reader1@example.com"},
        {"provider_message_id": "m-2"},
        {"campaign_id": "autumn"},
        {"recipient_id": "r-2"},
        {"environment": "staging"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_event_that_could_do_anything_else_is_another_event(changes: dict[str, Any]) -> None:
    assert claim_of(replace(EVENT, **changes)).content != claim_of(EVENT).content


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"received_at": EVENT.received_at + timedelta(hours=8)},
        {"single_use": "mailgun:renewed"},
        {"rule": "renamed"},
    ],
    ids=["as it was", "a retry", "signed anew", "another version of the rules"],
)
def test_an_event_that_comes_again_is_the_same(changes: dict[str, Any]) -> None:
    assert claim_of(replace(EVENT, **changes)).content == claim_of(EVENT).content


def test_values_that_change_places_make_another_event() -> None:
    moved = replace(EVENT, campaign_id=EVENT.recipient_id, recipient_id=EVENT.campaign_id)

    assert claim_of(moved).content != claim_of(EVENT).content


def test_of_several_claims_the_first_counts() -> None:
    first, second, other = (
        claim_of(replace(EVENT, event_id=one, single_use=proof)) for one, proof in zip("abc", "ttu", strict=True)
    )

    assert firsts([first, second, other]) == {"t": first, "u": other}


def test_the_proof_travels_with_the_event_and_an_event_without_one_has_no_member_for_it() -> None:
    assert wire.decode(wire.encode(EVENT)) == EVENT
    assert b"single_use" not in wire.encode(event(1))
