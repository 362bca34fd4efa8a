"""The JSON API for campaigns: the same logic as `mailward campaign`, behind a bearer token.

POST   /api/campaigns                           {"name", "audience": "upload" or "store", "filter", "from", "html", …}
GET    /api/campaigns                           the newest first
GET    /api/campaigns/<id>                      with counts, calls in flight, and calls that need a decision
POST   /api/campaigns/<id>/recipients           NDJSON, or CSV by its content type; safe to repeat
DELETE /api/campaigns/<id>/recipients           everybody out of a draft
POST   /api/campaigns/<id>/start                {"expected_total"}
POST   /api/campaigns/<id>/pause                {"reason"}; the answer lists the calls in flight
POST   /api/campaigns/<id>/resume               {"accept_missing", "replan_absent"}
POST   /api/campaigns/<id>/cancel
GET    /api/campaigns/<id>/delivery-status      {"stats": {…}}
GET    /api/campaigns/<id>/deliveries           ?status=&after=&limit=
POST   /api/campaigns/<id>/clone                {"statuses", "name"}: a new draft for those who were not mailed
POST   /api/campaigns/<id>/test-mail            {"to", "variables"}
POST   /api/calls/<id>/resolve                  {"choice": "assume-sent" or "resend"}
"""

import re
import secrets
from collections.abc import Sequence

from flask import Blueprint, Response, jsonify, request
from werkzeug.exceptions import NotFound

from core import database
from core.addresses import normalise
from core.ledger import campaigns, draft, lifecycle, roster
from sender import test_mail
from sender.campaign import Campaigns
from sender.clients.base import Client
from webhook.api import campaign_answers as answers
from webhook.api import campaign_errors
from webhook.api import campaign_schemas as schemas
from webhook.api.auth import BearerToken, actor
from webhook.api.bodies import Upload, asked, idempotency_key, json_object
from webhook.api.recipients import IMPORT_LIMIT

LISTED = 1000


def blueprint(all_campaigns: Campaigns, client: Client | None, tokens: Sequence[str]) -> Blueprint:
    """The routes, all behind one of `tokens`. `client` sends test mails; without one they are refused."""
    api = _Campaigns(all_campaigns, client)
    routes = Blueprint("campaigns", __name__, url_prefix="/api")
    BearerToken(tokens).guard(routes)
    campaign_errors.register(routes)
    routes.post("/campaigns")(api.create)
    routes.get("/campaigns")(api.list)
    routes.get("/campaigns/<campaign_id>")(api.get)
    routes.post("/campaigns/<campaign_id>/recipients")(api.upload)
    routes.delete("/campaigns/<campaign_id>/recipients")(api.clear)
    routes.get("/campaigns/<campaign_id>/delivery-status")(api.delivery_status)
    routes.get("/campaigns/<campaign_id>/deliveries")(api.deliveries)
    for action in (api.start, api.pause, api.resume, api.cancel, api.clone):
        routes.post(f"/campaigns/<campaign_id>/{action.__name__}")(action)
    routes.post("/campaigns/<campaign_id>/test-mail")(api.test_mail)
    routes.post("/calls/<call_id>/resolve")(api.resolve)
    return routes


class _Campaigns:
    """One method for each route."""

    def __init__(self, all_campaigns: Campaigns, client: Client | None) -> None:
        self._campaigns, self._client, self._engine = all_campaigns, client, all_campaigns.engine

    def create(self) -> tuple[Response, int]:
        mail = json_object()
        given = {name: mail.pop(name) for name in schemas.CreateRequest().fields if name in mail}
        own = schemas.CreateRequest().load(given)
        campaign_id = self._campaigns.create(own["name"], mail, actor(), own["audience"], own["filter"])
        return self.get(campaign_id), 201

    def list(self) -> Response:
        with database.reading(self._engine) as connection:
            rows = roster.listed(connection, LISTED)
        return jsonify(campaigns=[answers.campaign(row) for row in rows])

    def get(self, campaign_id: str) -> Response:
        with database.reading(self._engine) as connection:
            return jsonify(
                **answers.campaign(campaigns.find(connection, campaign_id)),
                stats=campaigns.delivery_status(connection, campaign_id),
                in_flight=answers.in_flight(campaigns.in_flight(connection, campaign_id)),
                undecided=answers.undecided(roster.undecided(connection, campaign_id)),
            )

    def upload(self, campaign_id: str) -> Response:
        form = "csv" if request.mimetype == "text/csv" else "ndjson"
        done = self._campaigns.upload(campaign_id, Upload(IMPORT_LIMIT), form)
        return jsonify(**answers.uploaded(done), **self._stats(campaign_id))

    def clear(self, campaign_id: str) -> Response:
        return jsonify(removed=draft.clear(self._engine, campaign_id))

    def start(self, campaign_id: str) -> Response:
        self._campaigns.start(campaign_id, actor(), asked(schemas.StartRequest)["expected_total"])
        return self.get(campaign_id)

    def pause(self, campaign_id: str) -> Response:
        reason = asked(schemas.PauseRequest)["reason"]
        with self._engine.begin() as connection:
            calls = lifecycle.pause(connection, campaign_id, actor(), reason)
        return jsonify(in_flight=answers.in_flight(calls), **self._stats(campaign_id))

    def resume(self, campaign_id: str) -> Response:
        wanted = asked(schemas.ResumeRequest)
        with self._engine.begin() as connection:
            if wanted["replan_absent"]:
                lifecycle.replan_absent(connection, campaign_id, actor())
            lifecycle.resume(connection, campaign_id, actor(), accept_missing=wanted["accept_missing"])
        return self.get(campaign_id)

    def cancel(self, campaign_id: str) -> Response:
        with self._engine.begin() as connection:
            calls = lifecycle.cancel(connection, campaign_id, actor())
        return jsonify(in_flight=answers.in_flight(calls), **self._stats(campaign_id))

    def delivery_status(self, campaign_id: str) -> Response:
        return jsonify(**self._stats(campaign_id))

    def deliveries(self, campaign_id: str) -> Response:
        wanted = schemas.DeliveriesQuery().load(request.args)
        statuses = (wanted["status"],) if wanted["status"] else ()
        with database.reading(self._engine) as connection:
            campaigns.find(connection, campaign_id)
            rows = roster.deliveries(
                connection, campaign_id, after=wanted["after"], limit=wanted["limit"], statuses=statuses
            )
        more = rows[-1].recipient_id if len(rows) == wanted["limit"] else None
        return jsonify(deliveries=[answers.delivery(row) for row in rows], next=more)

    def clone(self, campaign_id: str) -> tuple[Response, int]:
        wanted = asked(schemas.CloneRequest)
        made = self._campaigns.clone(campaign_id, actor(), wanted["statuses"], wanted["name"])
        return self.get(made), 201

    def test_mail(self, campaign_id: str) -> Response:
        wanted = asked(schemas.TestMailRequest)
        to = normalise(wanted["to"], keep_local_case=self._campaigns.keep_local_case)
        token = idempotency_key() or secrets.token_hex(8)
        done = test_mail.send(self._campaigns, self._client, campaign_id, to, actor(), token, wanted["variables"])
        return jsonify(**answers.answered(done.key, done.answer))

    def resolve(self, call_id: str) -> Response:
        choice = lifecycle.CHOICES[asked(schemas.ResolveRequest)["choice"]]
        if not re.fullmatch("[0-9]{1,18}", call_id):
            raise NotFound
        with self._engine.begin() as connection:
            changed = lifecycle.resolve(connection, int(call_id), actor(), choice)
        return jsonify(call=int(call_id), deliveries=changed)

    def _stats(self, campaign_id: str) -> dict[str, dict[str, int]]:
        with database.reading(self._engine) as connection:
            return {"stats": campaigns.delivery_status(connection, campaign_id)}
