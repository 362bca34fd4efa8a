"""The JSON API for campaigns: the same logic as `mailward campaign`, behind a bearer token.

Here are the campaign, its audience and its deliveries; what is done with it is in webhook.api.campaign_actions.
"""

from collections.abc import Sequence

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

from core import database
from core.ledger import campaigns, draft, roster
from sender.campaign import Campaigns
from sender.clients.base import Client
from webhook.api import campaign_answers as answers
from webhook.api import campaign_errors, media
from webhook.api import campaign_schemas as schemas
from webhook.api.auth import ActorHeader, BearerToken, actor
from webhook.api.bodies import IMPORT_LIMIT, UNREADABLE, Upload, json_object
from webhook.api.campaign_actions import Actions
from webhook.api.campaign_errors import CONFLICT, INVALID, NO_CAMPAIGN
from webhook.api.campaign_reads import counted, detail
from webhook.api.schemas import answer
from webhook.operation import Meaning, describe

LISTED = 1000


def blueprint(all_campaigns: Campaigns, client: Client | None, tokens: Sequence[str]) -> Blueprint:
    """The routes, all behind one of `tokens`. `client` sends test mails; without one they are refused."""
    api, actions = _Campaigns(all_campaigns), Actions(all_campaigns, client)
    routes = Blueprint("campaigns", __name__, url_prefix="/api")
    BearerToken(tokens).guard(routes)
    routes.before_request(_no_zero_byte)
    campaign_errors.register(routes)
    routes.post("/campaigns")(api.create)
    routes.get("/campaigns")(api.list)
    routes.get("/campaigns/<campaign_id>")(api.get)
    routes.post("/campaigns/<campaign_id>/recipients")(api.upload)
    routes.delete("/campaigns/<campaign_id>/recipients")(api.clear)
    routes.get("/campaigns/<campaign_id>/delivery-status")(api.delivery_status)
    routes.get("/campaigns/<campaign_id>/deliveries")(api.deliveries)
    for action in (actions.start, actions.pause, actions.resume, actions.cancel, actions.clone):
        routes.post(f"/campaigns/<campaign_id>/{action.__name__}")(action)
    routes.post("/campaigns/<campaign_id>/test-mail")(actions.test_mail)
    routes.post("/calls/<call_id>/resolve")(actions.resolve)
    return routes


def _no_zero_byte() -> None:
    """No id holds one, and PostgreSQL would not even look for it."""
    if any("\0" in value for value in (request.view_args or {}).values()):
        raise NotFound


class _Campaigns:
    """One method for each route."""

    def __init__(self, all_campaigns: Campaigns) -> None:
        self._campaigns, self._engine = all_campaigns, all_campaigns.engine

    @describe(
        "Create a draft, without recipients yet",
        {201: Meaning("The draft.", answers.DetailSchema), **UNREADABLE, **CONFLICT, **INVALID},
        body=(schemas.CampaignRequest,),
        headers=ActorHeader,
    )
    def create(self) -> tuple[Response, int]:
        mail = json_object()
        given = {name: mail.pop(name) for name in schemas.CreateRequest().fields if name in mail}
        own = schemas.CreateRequest().load(given)
        campaign_id = self._campaigns.create(own["name"], mail, actor(), own["audience"], own["filter"])
        return detail(self._engine, campaign_id), 201

    @describe("Campaigns", {200: Meaning(f"The newest {LISTED}.", answers.CampaignsSchema)})
    def list(self) -> Response:
        with database.reading(self._engine) as connection:
            return answer(answers.CampaignsSchema, {"campaigns": roster.listed(connection, LISTED)})

    @describe("A campaign", {200: Meaning("As it is now.", answers.DetailSchema), **NO_CAMPAIGN})
    def get(self, campaign_id: str) -> Response:
        return detail(self._engine, campaign_id)

    @describe(
        "Add recipients to a draft; safe to repeat",
        {
            200: Meaning("Good lines are taken, bad ones are told.", answers.UploadedSchema),
            **(UNREADABLE | NO_CAMPAIGN | CONFLICT),
            422: Meaning("The first line of the CSV will not do."),
        },
        body=media.AUDIENCE,
    )
    def upload(self, campaign_id: str) -> Response:
        form = "csv" if request.mimetype == media.CSV else "ndjson"
        done = self._campaigns.upload(campaign_id, Upload(IMPORT_LIMIT), form)
        added, repeated = done.loaded.added, done.loaded.repeated
        told = {"added": added, "repeated": repeated, "bad": done.bad, "bad_lines": done.bad_lines}
        return counted(self._engine, campaign_id, answers.UploadedSchema, **told)

    @describe(
        "Take everybody out of a draft",
        {200: Meaning("It has no recipients.", answers.RemovedSchema), **NO_CAMPAIGN, **CONFLICT},
    )
    def clear(self, campaign_id: str) -> Response:
        return answer(answers.RemovedSchema, {"removed": draft.clear(self._engine, campaign_id)})

    @describe("How far it has come", {200: Meaning("Counts.", answers.CountedSchema), **NO_CAMPAIGN})
    def delivery_status(self, campaign_id: str) -> Response:
        return counted(self._engine, campaign_id, answers.CountedSchema)

    @describe(
        "Its deliveries, in the order of their recipient ids",
        {200: Meaning("A page.", answers.DeliveriesSchema), **NO_CAMPAIGN, **INVALID},
        query=schemas.DeliveriesQuery,
    )
    def deliveries(self, campaign_id: str) -> Response:
        wanted = schemas.DeliveriesQuery().load(request.args)
        statuses = (wanted["status"],) if wanted["status"] else ()
        with database.reading(self._engine) as connection:
            campaigns.find(connection, campaign_id)
            rows = roster.deliveries(
                connection, campaign_id, after=wanted["after"], limit=wanted["limit"], statuses=statuses
            )
        more = rows[-1].recipient_id if len(rows) == wanted["limit"] else None
        return answer(answers.DeliveriesSchema, {"deliveries": rows, "next": more})
