"""`mailward dlq`: look at dead letters and parked messages. Looking takes nothing and changes no order."""

import json
import os
import sys
from contextlib import nullcontext
from typing import Any

import click
from sqlalchemy.exc import SQLAlchemyError

from ops import dlq_actions
from ops import letter_text as text
from ops.context import Context
from ops.dead_letters import DeadLetters
from ops.faults import explain
from ops.groups import SAMPLE, grouped
from ops.letters import Lane
from ops.scan_lock import ScanRefused
from ops.selection import NoSuchLetter, unabbreviated

EVERY_LANE = frozenset(Lane)


class DeadLetterGroup(click.Group):
    """Says an operator's own mistakes as they are; faults of services are left to the root."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (NoSuchLetter, ScanRefused) as error:
            raise click.ClickException(error.text) from None


@click.group(cls=DeadLetterGroup)
def dlq() -> None:
    """Look at dead letters and parked messages, replay them, settle them.

    Lanes: failed (an error, after all attempts), crash-loop (it took its consumer down), parked (a verified webhook
    that could not be understood, or names no single recipient). An id may be abbreviated to its beginning.
    """


for command in dlq_actions.COMMANDS:
    dlq.add_command(command)


@dlq.command("list")
@click.option("--lane", type=click.Choice([lane.value for lane in Lane]), help="Only this lane.")
@click.option("--ids", is_flag=True, help="Every id, not only some of each group.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.pass_obj
def list_(context: Context, lane: str | None, ids: bool, as_json: bool) -> None:
    """Letters by lane and reason, with counts and ages."""
    letters = _looking(context).look(frozenset({Lane(lane)}) if lane else EVERY_LANE)
    groups = grouped(letters, None if ids else SAMPLE)
    if as_json:
        counts = {one.value: sum(group.count for group in groups if group.lane is one) for one in Lane}
        click.echo(json.dumps({"lanes": counts, "groups": [group.as_json() for group in groups]}))
    elif not groups:
        click.echo("no dead letters, and nothing is parked" if lane is None else f"no letters in lane {lane}")
    else:
        for line in text.table(groups, context.clock()):
            click.echo(line)


@dlq.command()
@click.argument("letter_id", metavar="ID")
@click.pass_obj
def show(context: Context, letter_id: str) -> None:
    """Everything about the letter ID: event, error, stack, headers, body."""
    looking = _looking(context)
    (full_id,) = unabbreviated([letter_id], looking.ids(EVERY_LANE))
    for number, letter in enumerate(one for one in looking.look(EVERY_LANE) if one.id == full_id):
        if number:
            click.echo("")
        for line in text.shown(letter, looking.history(letter), context.clock()):
            click.echo(line)


@dlq.command()
@click.option("--lane", type=click.Choice([lane.value for lane in Lane]), help="Only this lane.")
@click.option("--output", type=click.Path(dir_okay=False), help="A file (readable for you alone) instead of stdout.")
@click.pass_obj
def export(context: Context, lane: str | None, output: str | None) -> None:
    """Every letter as one line of JSON, body included; takes nothing."""
    count = 0
    with open(output, "w", encoding="utf-8", opener=_private) if output else nullcontext(sys.stdout) as file:
        for letter in _looking(context).look(frozenset({Lane(lane)}) if lane else EVERY_LANE):
            file.write(text.exported(letter) + "\n")
            count += 1
    click.echo(f"exported {text.letters(count)}", err=True)


def _looking(context: Context) -> DeadLetters:
    def warn(error: SQLAlchemyError) -> None:
        click.echo(f"without the log of errors: {explain(error, context.settings)}", err=True)

    return DeadLetters(context, on_missing_log=warn)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
