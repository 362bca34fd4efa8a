"""`mailward ledger`: which ledger this is, and what to do when it is a copy or a restored backup."""

import click

from core import database
from core.ledger import campaigns, identity
from core.ledger.identity import MEANING, Trust
from ops.context import Context

_RISK = """Nothing that was sent after this ledger was copied or backed up is in it. Whoever was mailed then may be
mailed again once you resume the campaigns: look at what the provider sent since, first."""


@click.group()
def ledger() -> None:
    """Tell a copied or restored ledger from the right one."""


@ledger.command()
@click.pass_obj
def show(context: Context) -> None:
    """Show this ledger's identity in SQL, what Redis holds, and what that means."""
    seen = context.ledger_key.read()
    with database.reading(context.engine) as connection:
        ours = identity.known(connection)
    click.echo(f"sql    {ours if ours.ledger_id else 'no identity yet: nothing was ever sent'}")
    click.echo(f"redis  {seen or 'nothing'}")
    trust = identity.compare(ours, seen)
    click.echo("this is the ledger that sends here" if trust is Trust.OURS else MEANING[trust])
    if trust is not Trust.OURS:
        raise click.exceptions.Exit(1)


@ledger.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def adopt(context: Context, yes: bool) -> None:
    """Say that this ledger is the right one; paused campaigns stay paused until `campaign resume`."""
    seen = context.ledger_key.read()
    with database.reading(context.engine) as connection:
        trust = identity.compare(identity.known(connection), seen)
    if trust is not Trust.OURS:
        click.echo(f"{MEANING[trust]}.\n{_RISK}", err=True)
        if not yes:
            click.confirm("Adopt this ledger?", abort=True, err=True)
    with context.engine.begin() as connection:
        ours = identity.adopt(connection, seen)
        campaigns.note(connection, context.actor, "adopt", "ledger", f"{seen or 'nothing'} in Redis, now {ours}")
    context.ledger_key.adopt(ours)
    click.echo(f"this ledger, {ours}, sends here; `mailward campaign resume` each paused campaign")
