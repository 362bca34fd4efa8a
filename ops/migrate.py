"""`mailward migrate`: SQL tables and broker topology brought to this version. The release phase runs it."""

import time
from collections.abc import Callable

import click
from alembic.util import CommandError
from pika.exceptions import AMQPError, ChannelClosedByBroker

from config.parsers import mask_url
from core import database, topology
from core.errors import Outage
from core.failures import judge
from ops.broker_connection import connect
from ops.context import Context
from ops.faults import FAULTS, explain

WAIT_S = 30  # services that start together with us: RabbitMQ needs up to 15 s, small databases less
PAUSE_S = 0.5
PRECONDITION_FAILED = 406


@click.command()
@click.option(
    "--wait",
    default=WAIT_S,
    show_default=True,
    type=click.IntRange(0, 3600),
    help="Seconds to wait for SQL and RabbitMQ.",
)
@click.pass_obj
def migrate(context: Context, wait: int) -> None:
    """Create or upgrade the SQL tables, declare the broker's queues. Harmless to repeat; deletes nothing."""
    deadline = time.monotonic() + wait
    settings = context.settings
    try:
        _patiently(context, deadline, lambda: database.upgrade(context.engine, settings.database_schema))
    except CommandError as error:
        raise click.ClickException(f"SQL: {error}. Was this database migrated by a newer mailward?") from None
    click.echo(f"SQL: tables are up to date ({mask_url(settings.database_url)})")
    _patiently(context, deadline, lambda: _declare(context))
    names = topology.queue_names(context.topology)
    click.echo(f"RabbitMQ: {len(names)} queues are declared ({', '.join(names)})")


def _patiently(context: Context, deadline: float, step: Callable[[], None]) -> None:
    """Run `step`, again and again while its service is away and `deadline` (monotonic) has not passed."""
    told = False
    while True:
        try:
            step()
            return
        except FAULTS as error:
            if judge(error).kind is not Outage or time.monotonic() >= deadline:
                raise
            if not told:
                click.echo(f"waiting: {explain(error, context.settings)}", err=True)
                told = True
        time.sleep(PAUSE_S)


def _declare(context: Context) -> None:
    with connect(context.settings.amqp_url, "migrate") as connection:
        try:
            topology.declare(connection.channel(), context.topology)
        except ChannelClosedByBroker as error:
            if error.reply_code != PRECONDITION_FAILED:
                raise
            raise click.ClickException(_differs(error)) from None


def _differs(error: AMQPError) -> str:
    return (
        f"RabbitMQ has something of that name with other arguments, and arguments never change: {error.reply_text}\n"
        "mailward deletes nothing. Let the queue run empty (or export and replay its dead letters), delete it by hand,"
        " and run `mailward migrate` again; or use another MAILWARD_ENV, which gives the queues another prefix."
    )
