"""A campaign as it is now: what several routes answer."""

from typing import Any

from flask import Response
from sqlalchemy import Engine

from core import database
from core.ledger import campaigns, roster
from webhook.api import campaign_answers as answers
from webhook.api.schemas import answer


def detail(engine: Engine, campaign_id: str) -> Response:
    """The campaign with its counts, the calls in flight, and those that need a decision. Raises Refused."""
    with database.reading(engine) as connection:
        found = campaigns.find(connection, campaign_id)._asdict() | {
            "stats": campaigns.delivery_status(connection, campaign_id),
            "in_flight": campaigns.in_flight(connection, campaign_id),
            "undecided": roster.undecided(connection, campaign_id),
        }
    return answer(answers.DetailSchema, found)


def counted(engine: Engine, campaign_id: str, schema: type[answers.CountedSchema], **more: Any) -> Response:
    """`more` and the campaign's counts, as `schema` has them. Raises Refused."""
    with database.reading(engine) as connection:
        return answer(schema, {**more, "stats": campaigns.delivery_status(connection, campaign_id)})
