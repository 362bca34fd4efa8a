"""`mailward dlq replay|resolve|dismiss|discard`: what takes letters out of their queues.

Each looks first, says how many letters it is about, asks, and then touches no more than that.
"""

from collections.abc import Callable
from typing import Any

import click

from core.addresses import Address
from ops.context import Context
from ops.dlq_run import preview, run
from ops.letters import DEAD, Lane
from ops.recipient_commands import ADDRESS
from ops.replay import Replay
from ops.resolve import Resolve
from ops.selection import Selection
from ops.settlement import DISCARDED, DISMISSED, REPLAYED, RESOLVED, throw_away

PARKED = frozenset({Lane.PARKED})
Decorated = Callable[..., Any]


def _selecting(command: Decorated) -> Decorated:
    """The options that say which letters are meant."""
    for option in (
        click.option("--yes", is_flag=True, help="Do not ask."),
        click.option("--all", "all_", is_flag=True, help="Every letter of the lane."),
        click.option("--reason", help="Letters whose reason, as `dlq list` shows it, holds this text."),
        click.option("--id", "ids", multiple=True, help="This letter; may be repeated and abbreviated."),
    ):
        command = option(command)
    return command


@click.command()
@_selecting
@click.option("--lane", type=click.Choice([lane.value for lane in Lane]), help="Only this lane.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many, the oldest first.")
@click.option("--force", is_flag=True, help="Also what was replayed too often, or cannot be decoded.")
@click.option("--dry-run", is_flag=True, help="Say for each letter what would happen; touch nothing.")
@click.pass_obj
def replay(
    context: Context,
    ids: tuple[str, ...],
    reason: str | None,
    all_: bool,
    yes: bool,
    lane: str | None,
    limit: int | None,
    force: bool,
    dry_run: bool,
) -> None:
    """Put letters back to work, as at their first attempt; read parked ones again with today's code.

    --all without --lane leaves the parked lane alone. Only letters present at the start are replayed, so this ends
    even if they fail again at once. Exit status 1 if anything had to stay.
    """
    lanes = frozenset({Lane(lane)}) if lane else DEAD if all_ else frozenset(Lane)
    selection = _selection(lanes, ids, reason, all_)
    plan = Replay(context.topology, context.readers, force)
    if dry_run:
        preview(context, selection, plan, limit)
    else:
        tally = run(context, selection, plan, REPLAYED, yes, limit)
        _end(bool(tally.stays))


@click.command()
@click.option("--id", "letter_id", required=True, help="The parked message; may be abbreviated.")
@click.option("--recipient", "recipients", required=True, multiple=True, type=ADDRESS, help="Whom it is about.")
@click.option("--index", type=int, help="Which item of the body, where several lack a recipient.")
@click.pass_obj
def resolve(context: Context, letter_id: str, recipients: tuple[Address, ...], index: int | None) -> None:
    """Publish the event that a parked message would have been, had it named the recipient."""
    plan = Resolve(context.topology, context.readers, recipients, index)
    _end(bool(run(context, Selection(PARKED, ids=(letter_id,)), plan, RESOLVED, yes=True).left))


@click.command()
@_selecting
@click.option("--why", required=True, help="Your reason, for the log.")
@click.pass_obj
def dismiss(context: Context, ids: tuple[str, ...], reason: str | None, all_: bool, yes: bool, why: str) -> None:
    """Settle parked messages without any effect; bytes and reason are kept in the log."""
    run(context, _selection(PARKED, ids, reason, all_), throw_away(DISMISSED, why), DISMISSED, yes)


@click.command()
@_selecting
@click.option("--lane", type=click.Choice(sorted(lane.value for lane in DEAD)), help="Only this lane.")
@click.option("--why", required=True, help="Your reason, for the log.")
@click.pass_obj
def discard(
    context: Context, ids: tuple[str, ...], reason: str | None, all_: bool, yes: bool, lane: str | None, why: str
) -> None:
    """Throw dead letters away; bytes and reason are kept in the log."""
    lanes = frozenset({Lane(lane)}) if lane else DEAD
    run(context, _selection(lanes, ids, reason, all_), throw_away(DISCARDED, why), DISCARDED, yes)


COMMANDS = (replay, resolve, dismiss, discard)


def _selection(lanes: frozenset[Lane], ids: tuple[str, ...], reason: str | None, all_: bool) -> Selection:
    if bool(ids) + (reason is not None) + all_ != 1 or reason == "":
        raise click.UsageError("say which letters: --id (once or more), --reason, or --all")
    return Selection(lanes, ids, reason or "")


def _end(failed: bool) -> None:
    if failed:
        click.get_current_context().exit(1)
