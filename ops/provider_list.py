"""`mailward providers`: every provider there is, which of them are configured, and how their last posts fared."""

import json
from datetime import timedelta

import click

from core import counts, database
from core.telemetry import UNKNOWN_PROVIDER
from ops.context import Context
from ops.provider_activity import TOLD_BY, activity
from ops.provider_text import Listed, Listing, document, table
from providers.registry import PROVIDERS


@click.command()
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True, help="How far to look back.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document for machines.")
@click.pass_obj
def providers(context: Context, days: int, as_json: bool) -> None:
    """List every provider: configured or not, its proof, when a post was last accepted (by which secret) or refused.

    The web processes count into SQL every two seconds, minute by minute: times are no finer than that.
    """
    configured = context.providers
    now = context.clock()
    since = now - timedelta(days=days)
    with database.reading(context.engine) as connection:
        counted = counts.seen(connection, TOLD_BY, since)
    listed = [Listed(name, entry, name in configured, activity(counted, name)) for name, entry in PROVIDERS.items()]
    listing = Listing(listed, activity(counted, UNKNOWN_PROVIDER).refused, since, now)
    if as_json:
        click.echo(json.dumps(document(listing), indent=2))
        return
    for line in table(listing):
        click.echo(line)
