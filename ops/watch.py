"""`mailward watch`: arrivals at the broker and outcomes in the journal, one line each, as they happen."""

import time
from collections.abc import Iterable

import click

from ops.context import Context
from ops.watch_arrivals import Tap
from ops.watch_outcomes import Outcomes

TICK_S = 1.0
LINES = 200  # a second: more than anybody reads; what exceeds it is counted in one line


@click.command()
@click.option("--seconds", type=click.FloatRange(min=0), help="End by itself; default: at Ctrl-C.")
@click.option("--show-addresses", is_flag=True, help="Print addresses instead of a***@example.com.")
@click.pass_obj
def watch(context: Context, seconds: float | None, show_addresses: bool) -> None:
    """Show events as they arrive and what comes of them: time, provider, kind, rule, outcome, address, event id.

    Reads copies, so that nothing is consumed and nobody is slowed down.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    outcomes = Outcomes(context.engine, show_addresses)
    try:
        with Tap(context.settings.amqp_url, context.topology, show_addresses) as tap:
            click.echo(f"watching {context.topology.events.name}; Ctrl-C ends it", err=True)
            while deadline is None or time.monotonic() < deadline:
                left_s = TICK_S if deadline is None else min(TICK_S, max(0.0, deadline - time.monotonic()))
                _print(tap.take(left_s))
                _print(outcomes.take())
    except KeyboardInterrupt:
        return


def _print(lines: Iterable[str]) -> None:
    shown = list(lines)
    for line in shown[:LINES]:
        click.echo(line)
    if len(shown) > LINES:
        click.echo(f"… and {len(shown) - LINES} more within a second")
