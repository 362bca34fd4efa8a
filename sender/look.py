"""The look before sealing: whom a planned call would mail, with their mails, and whom it must leave out."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row

from core.clock import utc_now
from core.ledger.blocks import blocked
from core.ledger.campaigns import content_of
from core.ledger.rows import Member
from core.ledger.sealing import Fragment, candidates
from core.recipients import RecipientStore
from sender.clients.base import Client
from sender.content import Content
from sender.render import Member as Reader
from sender.render import Renderer, RenderError

WINDOW, LEAST, SHARE = 500, 20, 0.2  # members without record or removal among the last 500: more means an emptied Redis


class RecordsMissing(Exception):
    """So many members have neither a record nor a removal that Redis must have lost its records."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found: a fragment for each member to be mailed, and a reason for each to be skipped."""

    fragments: Sequence[Fragment]
    skips: Mapping[str, str]


class Looker:
    """Looks at candidates for one worker; keeps the compiled templates and the window of missing records."""

    def __init__(self, store: RecipientStore, client: Client, env: str, secret: str) -> None:
        self._store = store
        self._client = client
        self._env = env
        self._secret = secret
        self._renderers: dict[str, Renderer] = {}
        self._missing: dict[str, deque[bool]] = {}

    def look(self, connection: Connection, campaign: Row[Any], call: Row[Any]) -> Look:
        """Candidates of a planned call, judged by their records; raises RecordsMissing."""
        members = candidates(connection, call, self._client.capabilities.batch_limit)
        records = self.records([member.address for member in members])
        skips = self._without_record(connection, campaign, members, records) if campaign.audience == "store" else {}
        renderer = self._renderer(connection, campaign)
        fragments = []
        for member in members:
            if member.recipient_id in skips:
                continue
            try:
                mail = renderer.render(Reader.stored(*member))
            except RenderError as error:
                skips[member.recipient_id] = f"render: {error.part} {error.variable}"[:200]
                continue
            fragments.append(Fragment(member, self._client.fragment(mail), records[member.address]))
        return Look(fragments, skips)

    def records(self, addresses: Sequence[str]) -> dict[str, bytes | None]:
        """Each address (normal form) with its present record, or None."""
        found = self._store.read([self._store.key(address) for address in addresses])
        return dict(zip(addresses, found, strict=True))

    def _without_record(
        self,
        connection: Connection,
        campaign: Row[Any],
        members: Sequence[Member],
        records: Mapping[str, bytes | None],
    ) -> dict[str, str]:
        gone = {member.address: None for member in members if records[member.address] is None}
        removed = blocked(connection, gone, utc_now())
        absent = {member.recipient_id for member in members if member.address in gone and member.address not in removed}
        window = self._missing.setdefault(campaign.id, deque(maxlen=WINDOW))
        window.extend(member.recipient_id in absent for member in members)
        if sum(window) >= LEAST and sum(window) > SHARE * len(window) and not campaign.accept_missing:
            window.clear()
            raise RecordsMissing
        return {recipient_id: "absent" for recipient_id in absent}

    def _renderer(self, connection: Connection, campaign: Row[Any]) -> Renderer:
        known = self._renderers.get(campaign.id)
        if known is None:
            content = Content.from_canonical(content_of(connection, campaign.content_digest))
            known = self._renderers[campaign.id] = Renderer(content, self._env, campaign.id, self._secret)
        return known
