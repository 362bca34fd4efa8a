"""`mailward status`: the whole state on one screen, read from where it is kept; nothing changes."""

import json
from collections.abc import Mapping

import click

from core import database, queue_looks
from core.errors import Outage
from core.overview import overview
from core.queue_looks import Look
from ops.context import Context
from ops.letter_text import printable
from ops.status_text import Seen, document, screen


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document for machines.")
@click.pass_obj
def status(context: Context, as_json: bool) -> None:
    """Show queues, campaigns, alerts, processes and counters; it says so where the broker cannot be reached."""
    looks, away = _looks(context)
    now = context.clock()
    with database.reading(context.engine) as connection:
        seen = Seen(context.topology, looks, away, overview(connection, now), now)
    if as_json:
        click.echo(json.dumps(document(seen), indent=2))
        return
    for line in screen(seen):
        click.echo(printable(line))


def _looks(context: Context) -> tuple[Mapping[str, Look], str]:
    """The queues, and in a few words why they cannot be seen."""
    try:
        with queue_looks.connected(context.settings.amqp_url, "status") as connection:
            return queue_looks.look(connection, context.topology), ""
    except Outage as outage:
        return {}, str(outage)
