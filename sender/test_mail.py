"""One mail of a campaign to an address of the operator's choice: outside its audience, and counted nowhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core import database
from core.addresses import Address
from core.clock import utc_now
from core.ledger import campaigns, roster
from core.ledger.blocks import blocked
from core.ledger.campaigns import Refused
from sender.campaign import Campaigns
from sender.clients.base import Answer, Client
from sender.render import Member, Renderer

_RECIPIENT = "mailward-test-"  # of no audience: what becomes of a test mail settles nobody's delivery


@dataclass(frozen=True, slots=True)
class TestMail:
    """What came of it, and the idempotency key of the attempt."""

    __test__ = False  # for pytest, which would take it for a test

    key: str
    answer: Answer


def send(
    all_campaigns: Campaigns,
    client: Client | None,
    campaign_id: str,
    to: Address,
    actor: str,
    token: str,
    variables: Mapping[str, Any] | None = None,
) -> TestMail:
    """Send one mail to `to`, with the merge fields of the campaign's first member, `variables` before them.

    `token` ([A-Za-z0-9_-]) makes the key: the same token does not send twice. Raises Refused, RenderError, BadTemplate.
    """
    if client is None:
        raise Refused("no_provider", "RESEND_API_KEY is not set, so nothing can be sent")
    engine, store = all_campaigns.engine, all_campaigns.store
    record = store.read([store.key(to.normal)])[0]
    with database.reading(engine) as connection:
        row = campaigns.find(connection, campaign_id)
        sample = roster.deliveries(connection, campaign_id, limit=1)
        if blocked(connection, {to.normal: record}, utc_now()):
            raise Refused("blocked", "the journal blocks this address: `mailward recipients why` says why")
    fields = Member.stored(*roster.member(sample[0])).variables if sample else {}
    member = Member(f"{_RECIPIENT}{token}", to.normal, to.verbatim, {**fields, **(variables or {})})
    renderer = Renderer(all_campaigns.content(row), all_campaigns.env, campaign_id, all_campaigns.secret)
    key = f"{all_campaigns.env}.{campaign_id}.test.{token}"
    body = client.body([client.fragment(renderer.render(member))])
    with engine.begin() as connection:
        campaigns.note(connection, actor, "test-mail", campaign_id, key)
    return TestMail(key, client.call(body, key))
