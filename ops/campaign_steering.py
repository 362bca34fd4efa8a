"""`mailward campaign` for one that has begun: pause, resume, cancel, see how far it is, decide about unknown calls."""

import json

import click
from sqlalchemy.exc import SQLAlchemyError

from core import database
from core.ledger import campaigns, lifecycle, roster, skipping
from core.ledger.campaigns import STATUSES
from ops import campaign_text as text
from ops.campaign_watch import follow
from ops.context import Context
from ops.letter_text import printable

_CAMPAIGN = click.argument("campaign_id", metavar="CAMPAIGN")
_FIELDS = ("recipient_id", "address", "status", "reason", "outcome", "call_id", "provider_message_id")


@click.command()
@_CAMPAIGN
@click.option("--reason", default="paused by an operator", show_default=True)
@click.pass_obj
def pause(context: Context, campaign_id: str, reason: str) -> None:
    """Stop sending; prints the calls in flight. No other reaches the provider until `resume`."""
    with context.engine.begin() as connection:
        calls = lifecycle.pause(connection, campaign_id, context.actor, reason)
    for line in text.in_flight(calls):
        click.echo(line)


@click.command()
@_CAMPAIGN
@click.option("--accept-missing", is_flag=True, help="Go on although records are missing in bulk.")
@click.option("--replan-absent", is_flag=True, help="Mail those after all who were skipped for want of a record.")
@click.pass_obj
def resume(context: Context, campaign_id: str, accept_missing: bool, replan_absent: bool) -> None:
    """Go on with a paused campaign, exactly where it stopped."""
    with context.engine.begin() as connection:
        if replan_absent:
            back = lifecycle.replan_absent(connection, campaign_id, context.actor)
            click.echo(f"{back} recipients are to be mailed after all")
        lifecycle.resume(connection, campaign_id, context.actor, accept_missing=accept_missing)
    click.echo(f"campaign {campaign_id} runs")


@click.command()
@_CAMPAIGN
@click.confirmation_option(prompt="Nobody else will be mailed, and it cannot be started again. Cancel it?")
@click.pass_obj
def cancel(context: Context, campaign_id: str) -> None:
    """Stop for good: whoever has not been mailed is skipped. Prints the calls in flight."""
    with context.engine.begin() as connection:
        calls = lifecycle.cancel(connection, campaign_id, context.actor)
    for line in text.in_flight(calls):
        click.echo(line)
    try:
        skipping.skip_some(context.engine, campaign_id)
    except SQLAlchemyError:
        click.echo("It is cancelled. The ledger is busy: the clock process will skip the rest of its recipients.")


@click.command()
@_CAMPAIGN
@click.option("--json", "as_json", is_flag=True, help="The counts as one JSON document.")
@click.option("--follow", "follows", is_flag=True, help="As `watch`.")
@click.pass_context
def status(ctx: click.Context, campaign_id: str, as_json: bool, follows: bool) -> None:
    """Show the counts, calls in flight, and calls that need a decision."""
    context: Context = ctx.obj
    if follows:
        ctx.invoke(watch, campaign_id=campaign_id)
        return
    with database.reading(context.engine) as connection:
        stats = campaigns.delivery_status(connection, campaign_id)
        row = campaigns.find(connection, campaign_id)
        flying = campaigns.in_flight(connection, campaign_id)
        undecided = roster.undecided(connection, campaign_id)
    if as_json:
        click.echo(json.dumps({"state": row.state, "stats": stats}))
        return
    for line in (*text.state(row, stats), *text.in_flight(flying), *text.undecided(undecided)):
        click.echo(printable(line))


@click.command()
@_CAMPAIGN
@click.option("--status", "statuses", type=click.Choice(STATUSES), multiple=True, help="Only these; may be repeated.")
@click.pass_obj
def deliveries(context: Context, campaign_id: str, statuses: tuple[str, ...]) -> None:
    """Write who got it, who did not, and why, as NDJSON."""
    with database.reading(context.engine) as connection:
        campaigns.find(connection, campaign_id)
    for row in roster.all_deliveries(context.engine, campaign_id, statuses):
        click.echo(json.dumps({name: getattr(row, name) for name in _FIELDS}))


@click.command()
@click.argument("call_id", metavar="CALL", type=click.IntRange(1))
@click.option("--assume-sent", "choice", flag_value="assume-sent", help="Take it that the provider accepted the call.")
@click.option("--resend", "choice", flag_value="resend", help="Mail its recipients again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def resolve(context: Context, call_id: int, choice: str | None, yes: bool) -> None:
    """Decide about a CALL whose outcome is unknown (`campaign status` lists them)."""
    if choice is None:
        raise click.UsageError("say --assume-sent or --resend")
    click.echo(text.RISKS[choice], err=True)
    if not yes:
        click.confirm("Do it?", abort=True, err=True)
    with context.engine.begin() as connection:
        changed = lifecycle.resolve(connection, call_id, context.actor, lifecycle.CHOICES[choice])
    click.echo(f"call {call_id}: {changed} recipients {'count as sent' if choice == 'assume-sent' else 'wait again'}")


@click.command()
@_CAMPAIGN
@click.option("--interval", type=click.FloatRange(0.1), default=1.0, show_default=True, help="Seconds between looks.")
@click.pass_obj
def watch(context: Context, campaign_id: str, interval: float) -> None:
    """Show how far CAMPAIGN is, how fast, and for how long still, until it is over or pauses."""
    follow(context.engine, campaign_id, interval)
