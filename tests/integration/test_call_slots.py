"""A stop while a worker waits for its turn to call: nothing leaves, and nothing is lost."""

from datetime import timedelta

from sender.slots import Slots
from tests.sending import World


def test_a_stop_before_the_call_makes_none_and_the_call_is_made_when_its_lease_has_run_out(world: World) -> None:
    campaign = world.campaign(3)
    world.slots = Slots(1, lambda: True)
    assert world.move(campaign, worker=world.worker("stopping")) == ["stopped_before_the_call"]
    assert world.provider.calls == []

    world.later(timedelta(minutes=3))

    assert world.move(campaign) == ["accepted"]
    assert set(world.provider.mails.values()) == {1}
