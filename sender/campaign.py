"""Campaigns as operators handle them, by API and by command line alike: create, upload, start, clone.

Everything else about a campaign (pause, resume, cancel, resolve) is one transaction of core.ledger.lifecycle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, Row

from config.settings import Settings
from core import database
from core.ahead import ahead
from core.ledger import campaigns, draft, lifecycle, loading, planning, remaining, skipping
from core.ledger.campaigns import Refused
from core.ledger.loading import Loaded
from core.recipients import RecipientStore
from sender import rendering_check, store_audience
from sender.audience import Source
from sender.content import Content
from sender.render import Renderer
from sender.uploading import READERS, Uploaded

UPLOAD, STORE = AUDIENCES = ("upload", "store")
OVER = ("completed", "completed_with_issues", "cancelled")
REMAINING = ("failed", "skipped")
_AHEAD = 6  # slices that are parsed while others are written


@dataclass(frozen=True, slots=True)
class Campaigns:
    """Creates and starts campaigns.

    `secret` signs unsubscribe links; empty: no campaign can have them. `patient` is for a process that does nothing
    else meanwhile; without it long work is done in small pieces, between which the process may answer others.
    """

    engine: Engine
    store: RecipientStore
    env: str
    secret: str
    keep_local_case: bool
    patient: bool

    @classmethod
    def of(cls, settings: Settings, engine: Engine, store: RecipientStore, *, patient: bool) -> "Campaigns":
        """As `settings` have it; the first of the secrets signs."""
        secret = next(iter(settings.unsubscribe_secrets), "")
        return cls(engine, store, settings.env, secret, settings.keep_local_case, patient)

    def create(
        self, name: str, mail: Mapping[str, Any], actor: str, audience: str = UPLOAD, audience_filter: str = ""
    ) -> str:
        """A new draft; returns its id. `mail` is the content as operators write it (sender.content).

        Raises marshmallow.ValidationError, BadTemplate, BadFilter and Refused.
        """
        checked = Content.from_mapping(mail)
        self._compiled(checked, "draft")
        store_audience.accepting(audience_filter)
        with self.engine.begin() as connection:
            body = checked.canonical().decode()
            campaign_id = campaigns.create(connection, name, checked.digest(), body, audience, audience_filter)
            campaigns.note(connection, actor, "create", campaign_id)
        return campaign_id

    def upload(self, campaign_id: str, source: Source, form: str) -> Uploaded:
        """Add the recipients of a file to a draft; safe to repeat. Raises Refused, and BadFile for a bad header."""
        if self._row(campaign_id).audience != UPLOAD:
            raise Refused("not_uploaded", f"the audience of campaign {campaign_id} comes from the recipient store")
        uploaded = Uploaded()
        slices = READERS[form](source, keep_local_case=self.keep_local_case)
        uploaded.loaded = self._load(campaign_id, uploaded.rows(slices))
        return uploaded

    def start(self, campaign_id: str, actor: str, expected_total: int | None = None) -> int:
        """Send it; returns the number of recipients. A second start does nothing.

        An audience from the recipient store is taken now. Raises Refused, and NotRenderable before any mail leaves.
        """
        row = self._row(campaign_id)
        if row.state == "draft":
            renderer = self._compiled(self.content(row), campaign_id)
            if row.audience == STORE and not row.cloned_from:
                self._gather(row, renderer)
            row = self._row(campaign_id)
            if expected_total in (None, row.total):
                rendering_check.check(self.engine, campaign_id, renderer, patient=self.patient)
        with database.reading(self.engine) as connection:
            plan = planning.draw(connection, campaign_id) if row.state == "draft" else None
        if row.state == "draft":
            database.has_grown(self.engine, "delivery_ledger")
        with self.engine.begin() as connection:
            # What was checked is what is sent: if the audience has changed since, the total tells.
            total = row.total if expected_total is None else expected_total
            lifecycle.start(connection, campaign_id, actor, total, plan)
        return int(row.total)

    def clone(self, campaign_id: str, actor: str, statuses: Sequence[str] = REMAINING, name: str = "") -> str:
        """A new draft with the same content, for the members of a campaign that is over who have one of `statuses`.

        Returns its id. Raises Refused for a campaign that could still mail them itself.
        """
        row = self._row(campaign_id)
        if row.state not in OVER:
            raise Refused("not_over", f"campaign {campaign_id} is {row.state}; cancel it first, or it mails them too")
        skipping.skip_some(self.engine, campaign_id)  # whoever a recent cancelling has not come to
        with self.engine.begin() as connection:
            body = campaigns.content_of(connection, row.content_digest)
            name = name or f"{row.name} (remaining)"
            made = campaigns.create(connection, name, row.content_digest, body, row.audience, "", campaign_id)
            campaigns.note(connection, actor, "clone", made, f"{', '.join(statuses)} of {campaign_id}")
        remaining.copy(self.engine, campaign_id, made, statuses)
        return made

    def content(self, row: Row[Any]) -> Content:
        """What a campaign sends."""
        with database.reading(self.engine) as connection:
            return Content.from_canonical(campaigns.content_of(connection, row.content_digest))

    def _row(self, campaign_id: str) -> Row[Any]:
        with database.reading(self.engine) as connection:
            return campaigns.find(connection, campaign_id)

    def _compiled(self, checked: Content, campaign_id: str) -> Renderer:
        if checked.unsubscribe_url and not self.secret:
            raise Refused("no_unsubscribe_secret", "UNSUBSCRIBE_SECRETS is not set, so there is no unsubscribe_url")
        return Renderer(checked, self.env, campaign_id, self.secret)

    def _load(self, campaign_id: str, slices: Iterable[Sequence[draft.Entry]]) -> Loaded:
        if self.patient:
            return loading.load(self.engine, campaign_id, ahead(slices, _AHEAD))
        return loading.load(self.engine, campaign_id, slices, patient=False)

    def _gather(self, row: Row[Any], renderer: Renderer) -> None:
        """Take the audience from the store, afresh: records may have changed since an earlier try."""
        draft.clear(self.engine, row.id)
        scanned = self.store.scan()
        slices = store_audience.rows(scanned, renderer.variables, row.audience_filter, self.keep_local_case)
        self._load(row.id, slices)
