"""Before a campaign starts: can every one of its mails be made? Nothing is sent while one cannot."""

from collections.abc import Iterator, Sequence
from itertools import islice
from time import sleep

from sqlalchemy import Engine

from core.ledger import roster
from core.ledger.campaigns import Refused
from sender.render import Member, Renderer, RenderError

SHOWN = 100  # errors that are told; all are counted


class NotRenderable(Refused):
    """Some mails of the campaign cannot be made: the first `errors`, and the `count` of all."""

    def __init__(self, errors: Sequence[RenderError], count: int) -> None:
        super().__init__("not_renderable", f"{count} errors in the mails; the first: {errors[0]}")
        self.errors, self.count = errors, count


def check(engine: Engine, campaign_id: str, renderer: Renderer, *, patient: bool) -> None:
    """Look at everybody's mail, as the members stream by; raises NotRenderable.

    Without `patient` others get their turn after every page of members.
    """
    errors = renderer.check(_members(engine, campaign_id, patient))
    first = list(islice(errors, SHOWN))
    if first:
        raise NotRenderable(first, len(first) + sum(1 for _ in errors))


def _members(engine: Engine, campaign_id: str, patient: bool) -> Iterator[Member]:
    for number, row in enumerate(roster.all_deliveries(engine, campaign_id)):
        if not patient and number % roster.PAGE == 0:
            sleep(0)  # gevent's, in the web process
        yield Member.stored(*roster.member(row))
