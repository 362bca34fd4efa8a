"""A thousand hostile, malformed and odd posts at a running deployment: no crash, no loss, no wrong deletion."""

from collections import Counter
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings

from tests.e2e import hostile
from tests.e2e.deployment import Deployment
from tests.e2e.hostile import BYSTANDER, CONSENTED, Case, Fate
from tests.e2e.posts import Answer, Door
from tests.system import wait_until

DRAWN = 800
RECORD = b'{"name": "made up", "note": "\xc3\xa9\\u0000"}'


class Campaign:
    """Posts cases one after the other, and remembers what was answered and who may be gone."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._numbers = count(1)
        self.must_go: set[str] = set()
        self.may_go: set[str] = set()
        self.accepted = 0
        self.statuses: Counter[int] = Counter()

    def post(self, case: Case) -> Answer:
        number = next(self._numbers)
        body, address = case.of(number), hostile.victim(number)
        answer = self._door.post(case.provider, body, hostile.headers(case, body, f"msg_{number}"))
        self.accepted += answer.accepted
        self.statuses[answer.status] += 1
        if case.fate is Fate.GOES:
            self.must_go.add(address)
        if case.fate is not Fate.STAYS:
            self.may_go.add(address)
        return answer


def assert_answered(case: Case, answer: Answer) -> None:
    """A proven body is one item, whatever it holds; anything else is refused."""
    if case.damage in hostile.PROOFS:
        assert (answer.status, answer.accepted) in {(401, 0), (400, 0), (431, 0)}, case
    else:
        assert answer.status == 200, case
        assert answer.accepted + answer.said["counted"] == 1, case


@pytest.fixture
def under_fire(deployment: Deployment, postgresql_url: str) -> Deployment:
    """A deployment on PostgreSQL, which takes neither NUL nor lone surrogates, and every possible victim's record."""
    deployment.environ["DATABASE_URL"] = postgresql_url
    deployment.release()
    deployment.system.put([hostile.victim(number) for number in range(5 * DRAWN)], RECORD)
    deployment.system.put([BYSTANDER], RECORD)
    deployment.system.put([CONSENTED], b'{"eligible_since": "2026-11-28T00:00:00Z"}')
    return deployment


@pytest.mark.timeout(300)
def test_hostile_posts_crash_nothing_lose_nothing_and_remove_nobody_but_those_they_name(
    under_fire: Deployment,
) -> None:
    system = under_fire.system
    before = records(under_fire)
    campaign = Campaign(under_fire.start_web())
    consumer = under_fire.start_consumer()

    @settings(
        max_examples=DRAWN, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=hostile.cases())
    def post(case: Case) -> None:
        assert_answered(case, campaign.post(case))

    for case in hostile.written_out():
        assert_answered(case, campaign.post(case))
    post()
    assert sum(campaign.statuses.values()) >= 1_000
    wait_until(lambda: under_fire.handled() >= campaign.accepted, "everything accepted is handled", 60)

    assert under_fire.handled() == campaign.accepted
    assert set(system.outcomes()) == {"removed", "absent", "ignored", "stale"}
    assert under_fire.dead() == 0
    assert under_fire.waiting() == 0
    gone = before.keys() - records(under_fire).keys()
    named = {system.key(address).encode() for address in campaign.may_go}
    assert {system.key(address).encode() for address in campaign.must_go} <= gone <= named
    assert records(under_fire) == {key: record for key, record in before.items() if key not in gone}
    assert consumer.poll() is None
    for trouble in ("attempt_failed", "dead_letter", "outage", "reconnecting"):
        assert under_fire.said("events", trouble) == 0
    assert under_fire.said("web", "webhook crashed") == 0
    assert "@example" not in system.log("events") + system.log("web")


def records(deployment: Deployment) -> dict[bytes, bytes | None]:
    """Every record of this deployment, as it is."""
    client = deployment.system.redis
    keys = list(client.scan_iter(deployment.system.key("*"), count=5000))
    return dict(zip(keys, client.mget(keys), strict=True))
