"""`mailward campaign`: make a campaign, fill it, start it, and make another for those who were not mailed."""

import secrets
from collections.abc import Iterable
from typing import BinaryIO

import click

from core import database
from core.addresses import Address
from core.ledger import campaigns, draft, roster
from ops import campaign_text as text
from ops.campaign_create import PAIR, create
from ops.campaign_steering import cancel, deliveries, pause, resolve, resume, status, watch
from ops.context import Context
from ops.letter_text import printable
from ops.progress import progress
from ops.recipient_commands import ADDRESS
from sender import test_mail
from sender.audience import BadFile
from sender.campaign import REMAINING
from sender.clients import configured
from sender.render import RenderError
from sender.rendering_check import NotRenderable
from sender.uploading import READERS


@click.group()
def campaign() -> None:
    """Create, fill, start, watch and stop campaigns."""


for command in (create, pause, resume, cancel, status, deliveries, resolve, watch):
    campaign.add_command(command)


@campaign.command()
@click.argument("campaign_id", metavar="CAMPAIGN")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--format", "form", type=click.Choice(sorted(READERS)), help="Default: csv for a name ending in .csv.")
@click.option("--replace", is_flag=True, help="Take everybody out first who was uploaded before.")
@click.pass_obj
def upload(context: Context, campaign_id: str, file: BinaryIO, form: str | None, replace: bool) -> None:
    """Add the recipients of FILE (or standard input) to a draft, NDJSON or CSV; safe to repeat.

    A line has an address, perhaps a recipient_id, and merge fields. Who is there already, by id or address, stays as
    first uploaded. Lines that cannot be read are reported and not taken; exit status 1 then.
    """
    name = str(getattr(file, "name", "standard input"))
    if replace:
        click.echo(f"{draft.clear(context.engine, campaign_id)} taken out", err=True)
    try:
        with progress(file, "uploading") as source:
            done = context.campaigns.upload(
                campaign_id, source, form or ("csv" if name.lower().endswith(".csv") else "ndjson")
            )
    except BadFile as error:
        raise click.ClickException(f"{name}: {error}") from None
    for line in text.uploaded(done):
        click.echo(line, err=line.startswith("line "))
    if done.bad:
        raise click.exceptions.Exit(1)


@campaign.command()
@click.argument("campaign_id", metavar="CAMPAIGN")
@click.option("--expect", type=click.IntRange(1), help="Refuse unless there are exactly so many recipients.")
@click.pass_obj
def start(context: Context, campaign_id: str, expect: int | None) -> None:
    """Send CAMPAIGN. Nothing is sent unless every mail can be made. A second start does nothing."""
    try:
        total = context.campaigns.start(campaign_id, context.actor, expect)
    except NotRenderable as error:
        _report(error.errors)
        raise click.ClickException(f"{error.count} errors; nothing was sent") from None
    click.echo(
        f"campaign {campaign_id} runs: {total} recipients; `mailward campaign watch {campaign_id}` shows how far"
    )


@campaign.command("list")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@click.pass_obj
def list_(context: Context, limit: int) -> None:
    """List campaigns, the newest first."""
    with database.reading(context.engine) as connection:
        rows = roster.listed(connection, limit)
    for row in rows:
        click.echo(printable(text.listed(row)))


@campaign.command()
@click.argument("campaign_id", metavar="CAMPAIGN")
@click.option("--status", "statuses", type=click.Choice(REMAINING), multiple=True, help="Default: both.")
@click.option("--name", default="", help="Default: the name of CAMPAIGN and (remaining).")
@click.pass_obj
def clone(context: Context, campaign_id: str, statuses: tuple[str, ...], name: str) -> None:
    """Make a draft with the content of CAMPAIGN, which is over, for those whom it did not mail; prints its id."""
    made = context.campaigns.clone(campaign_id, context.actor, statuses or REMAINING, name)
    with database.reading(context.engine) as connection:
        total = campaigns.find(connection, made).total
    click.echo(f"{total} recipients", err=True)
    click.echo(made)


@campaign.command("test-mail")
@click.argument("campaign_id", metavar="CAMPAIGN")
@click.argument("to", type=ADDRESS)
@click.option("--field", "fields", type=PAIR, multiple=True, help="A merge field instead of the first recipient's.")
@click.pass_obj
def test_mail_(context: Context, campaign_id: str, to: Address, fields: tuple[tuple[str, str], ...]) -> None:
    """Send one mail of CAMPAIGN to the address TO, outside its audience."""
    client = configured.client(context.settings)
    token = secrets.token_hex(8)
    try:
        done = test_mail.send(context.campaigns, client, campaign_id, to, context.actor, token, dict(fields))
    except RenderError as error:
        _report([error])
        raise click.ClickException("the mail cannot be made; --field gives it what is missing") from None
    for line in text.answered(done.key, done.answer):
        click.echo(printable(line))
    if not done.answer.ids:
        raise click.exceptions.Exit(1)


def _report(errors: Iterable[RenderError]) -> None:
    for error in errors:
        click.echo(printable(str(error)), err=True)
