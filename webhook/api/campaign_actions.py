"""What an operator does with a campaign: start, pause, resume, cancel, clone, try it out, and settle its calls."""

import re
import secrets

from flask import Response
from werkzeug.exceptions import NotFound

from core.addresses import normalise
from core.ledger import lifecycle
from sender import test_mail
from sender.campaign import Campaigns
from sender.clients.base import Client
from webhook.api import campaign_answers as answers
from webhook.api import campaign_schemas as schemas
from webhook.api.auth import ActorHeader, actor
from webhook.api.bodies import UNREADABLE, asked, idempotency_key
from webhook.api.campaign_errors import CONFLICT, INVALID, NO_CAMPAIGN, CampaignErrorSchema
from webhook.api.campaign_reads import counted, detail
from webhook.api.schemas import answer
from webhook.operation import Meaning, describe

_REFUSALS = UNREADABLE | NO_CAMPAIGN | CONFLICT | INVALID


class Actions:
    """One method for each route."""

    def __init__(self, all_campaigns: Campaigns, client: Client | None) -> None:
        """`client` sends test mails; without one they are refused."""
        self._campaigns, self._client, self._engine = all_campaigns, client, all_campaigns.engine

    @describe(
        "Send it; a second start does nothing",
        {200: Meaning("It runs.", answers.DetailSchema), **_REFUSALS},
        body=(schemas.StartRequest,),
        headers=ActorHeader,
    )
    def start(self, campaign_id: str) -> Response:
        self._campaigns.start(campaign_id, actor(), asked(schemas.StartRequest)["expected_total"])
        return detail(self._engine, campaign_id)

    @describe(
        "Stop it until it is resumed",
        {200: Meaning("It is paused; no calls but those in flight will be made.", answers.StoppedSchema), **_REFUSALS},
        body=(schemas.PauseRequest,),
        headers=ActorHeader,
    )
    def pause(self, campaign_id: str) -> Response:
        reason = asked(schemas.PauseRequest)["reason"]
        with self._engine.begin() as connection:
            calls = lifecycle.pause(connection, campaign_id, actor(), reason)
        return counted(self._engine, campaign_id, answers.StoppedSchema, in_flight=calls)

    @describe(
        "Go on with what was paused",
        {200: Meaning("It runs.", answers.DetailSchema), **_REFUSALS},
        body=(schemas.ResumeRequest,),
        headers=ActorHeader,
    )
    def resume(self, campaign_id: str) -> Response:
        wanted = asked(schemas.ResumeRequest)
        with self._engine.begin() as connection:
            if wanted["replan_absent"]:
                lifecycle.replan_absent(connection, campaign_id, actor())
            lifecycle.resume(connection, campaign_id, actor(), accept_missing=wanted["accept_missing"])
        return detail(self._engine, campaign_id)

    @describe(
        "Mail nobody else, for good",
        {
            200: Meaning(
                "Who was not mailed is skipped; of very many, the rest within minutes.", answers.StoppedSchema
            ),
            **NO_CAMPAIGN,
            **CONFLICT,
        },
        headers=ActorHeader,
    )
    def cancel(self, campaign_id: str) -> Response:
        with self._engine.begin() as connection:
            calls = lifecycle.cancel(connection, campaign_id, actor())
        return counted(self._engine, campaign_id, answers.StoppedSchema, in_flight=calls)

    @describe(
        "Make a new draft for those whom a campaign that is over has not mailed",
        {201: Meaning("The new draft.", answers.DetailSchema), **_REFUSALS},
        body=(schemas.CloneRequest,),
        headers=ActorHeader,
    )
    def clone(self, campaign_id: str) -> tuple[Response, int]:
        wanted = asked(schemas.CloneRequest)
        made = self._campaigns.clone(campaign_id, actor(), wanted["statuses"], wanted["name"])
        return detail(self._engine, made), 201

    @describe(
        "Send one mail of it, to an address outside its audience",
        {200: Meaning("The provider has answered, in whatever way.", answers.TestMailSchema), **_REFUSALS},
        body=(schemas.TestMailRequest,),
        headers=schemas.TestMailHeaders,
    )
    def test_mail(self, campaign_id: str) -> Response:
        wanted = asked(schemas.TestMailRequest)
        to = normalise(wanted["to"], keep_local_case=self._campaigns.keep_local_case)
        token = idempotency_key() or secrets.token_hex(8)
        done = test_mail.send(self._campaigns, self._client, campaign_id, to, actor(), token, wanted["variables"])
        return answer(answers.TestMailSchema, done)

    @describe(
        "Settle a call that may have been accepted; `resend` risks a second mail",
        {
            200: Meaning("It is settled.", answers.ResolvedSchema),
            **(UNREADABLE | CONFLICT | INVALID),
            404: Meaning("There is no such call.", CampaignErrorSchema),
        },
        body=(schemas.ResolveRequest,),
        headers=ActorHeader,
    )
    def resolve(self, call_id: str) -> Response:
        choice = lifecycle.CHOICES[asked(schemas.ResolveRequest)["choice"]]
        if not re.fullmatch("[0-9]{1,18}", call_id):
            raise NotFound
        with self._engine.begin() as connection:
            changed = lifecycle.resolve(connection, int(call_id), actor(), choice)
        return answer(answers.ResolvedSchema, {"call": int(call_id), "deliveries": changed})
