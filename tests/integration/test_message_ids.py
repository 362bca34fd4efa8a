"""The provider's message ids in the ledger: whatever their form, they are read as they were told."""

from dataclasses import replace

import pytest

from core import database
from core.events import Kind
from core.ledger import roster, tags
from core.ledger.settlement import settle_events
from sender.clients.base import Answer
from tests.sending import ACCEPTED, Provider, World
from tests.system import event

UUIDS = tuple(f"4ef9a417-02e9-4d39-ad75-9611e0fcc33{n}" for n in range(3))
FORMS = {
    "UUIDs": UUIDS,
    "texts": ("re_1", "<a@example.com>", "é"),
    "both": ("re_1", *UUIDS[1:]),
    "UUIDs in capitals": tuple(one.upper() for one in UUIDS),
    "UUIDs without hyphens": tuple(one.replace("-", "") for one in UUIDS),
    "UUIDs with something after them": tuple(f"{one}-1" for one in UUIDS),
}


def answering_with(ids: tuple[str, ...]) -> object:
    def step(provider: Provider, body: bytes, key: str) -> Answer:
        provider.accept(body, key)
        return Answer(ACCEPTED, 200, ids=ids)

    return step


def shown(world: World, campaign: str) -> list[str | None]:
    with database.reading(world.engine) as connection:
        return [row.provider_message_id for row in roster.deliveries(connection, campaign)]


def tell(world: World, campaign: str, message_id: str, kind: Kind = Kind.ACCEPTED) -> dict[tuple[str, str, str], int]:
    """An event about the first reader of the campaign; returns what it counted."""
    told = replace(
        event(kind=kind, recipient="reader000@example.com"),
        provider_message_id=message_id, campaign_id=campaign, recipient_id=tags.tag_of("r000"), environment=world.env,
    )  # fmt: skip
    with world.engine.begin() as connection:
        return dict(settle_events(connection, [told], world.env))


@pytest.mark.parametrize("ids", FORMS.values(), ids=FORMS)
def test_the_ids_of_an_answer_are_read_as_they_were_told(world: World, ids: tuple[str, ...]) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering_with(ids)]  # type: ignore[list-item]

    assert world.move(campaign) == ["accepted"]

    assert shown(world, campaign) == list(ids)


@pytest.mark.parametrize("message_id", [ids[0] for ids in FORMS.values()], ids=FORMS)
def test_the_id_of_an_event_is_read_as_it_was_told(world: World, message_id: str) -> None:
    campaign = world.campaign(1)

    tell(world, campaign, message_id)

    assert shown(world, campaign) == [message_id]


@pytest.mark.parametrize("first", ["re_1", UUIDS[2]])
@pytest.mark.parametrize("ids", [UUIDS, FORMS["texts"]], ids=["UUIDs", "texts"])
def test_the_ids_of_an_answer_replace_that_of_an_event_before_it(
    world: World, first: str, ids: tuple[str, ...]
) -> None:
    campaign = world.campaign(3)
    world.provider.before = lambda: tell(world, campaign, first)
    world.provider.script = [answering_with(ids)]  # type: ignore[list-item]

    world.move(campaign)

    assert shown(world, campaign) == list(ids)
    assert world.status(campaign)["sent"] == 3


@pytest.mark.parametrize("first", ["re_1", UUIDS[2]])
def test_an_answer_without_ids_keeps_that_of_an_event_before_it(world: World, first: str) -> None:
    campaign = world.campaign(3)
    world.provider.before = lambda: tell(world, campaign, first)
    world.provider.script = [answering_with(())]  # type: ignore[list-item]

    world.move(campaign)

    assert shown(world, campaign) == [first, None, None]


@pytest.mark.parametrize("ids", [UUIDS, FORMS["texts"]], ids=["UUIDs", "texts"])
def test_an_event_of_another_message_is_a_second_mail_and_one_of_the_same_is_not(
    world: World, ids: tuple[str, ...]
) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering_with(ids)]  # type: ignore[list-item]
    world.move(campaign)

    assert tell(world, campaign, ids[0]) == {}
    assert tell(world, campaign, "another") == {("email.duplicate_detected", "resend", "second_message"): 1}
    assert shown(world, campaign) == list(ids)


@pytest.mark.parametrize("engine", ["postgresql"], indirect=True)
def test_postgresql_keeps_a_uuid_in_sixteen_bytes(world: World) -> None:
    campaign = world.campaign(3)
    world.provider.script = [answering_with(UUIDS)]  # type: ignore[list-item]

    world.move(campaign)

    rows = world.rows("SELECT provider_message_id, pg_column_size(provider_message_uuid) AS size FROM delivery_ledger")
    assert [tuple(row) for row in rows] == [(None, 16)] * 3
