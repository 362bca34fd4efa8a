"""How every `mailward dlq` action runs: look, ask, carry out, say what came of it. Or only foresee it."""

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import click

from ops.context import Context
from ops.dead_letters import DeadLetters
from ops.letter_text import letters, printable
from ops.preview import Preview
from ops.selection import Selection, unabbreviated
from ops.settlement import Leave, Plan, Tally

WAKES = "wake a worker: the ledger says what is left to do"
BAR_FROM = 50  # letters; fewer are done before a bar could be read


def _resolved(context: Context, selection: Selection) -> tuple[Selection, int]:
    """The selection with full ids, and how many letters it takes right now."""
    reading = DeadLetters(context)
    if selection.ids:
        present = reading.ids(selection.lanes)
        full = unabbreviated(selection.ids, present)
        return replace(selection, ids=full), sum(present[one] for one in set(full))
    return selection, sum(selection.takes(letter) for letter in reading.look(selection.lanes))


def run(context: Context, selection: Selection, plan: Plan, done: str, yes: bool, limit: int | None = None) -> Tally:
    """Look, ask unless `yes` or ids were given, carry out `plan`, and say what came of it; returns that.

    `done` is the plan's word for a settled letter; `limit` the most letters that are touched.
    """
    selection, found = _resolved(context, selection)
    total, tally = min(found, limit or found), Tally()
    if not total:
        click.echo(f"nothing to be {done}: no letter matches")
        return tally
    if not (yes or selection.ids):
        click.confirm(f"{letters(total)} will be {done}. Go on?", abort=True)
    hidden = total < BAR_FROM or not sys.stderr.isatty()
    ended = False
    try:
        with click.progressbar(length=total, label=done, file=sys.stderr, hidden=hidden) as bar:
            DeadLetters(context).carry_out(selection, plan, total, tally, bar.update)
        ended = True
    finally:
        _say(tally, done, total, ended)
    return tally


def _say(tally: Tally, done: str, total: int, ended: bool) -> None:
    if not ended:
        click.echo("stopped early; what is not done lies where it lay, and a repeat does no harm", err=True)
    click.echo(f"{done} {tally.settled:,} of {letters(total)}")
    stays = tally.stays.copy()
    if ended and tally.settled + tally.left < total:
        stays["not there any more"] = total - tally.settled - tally.left
    for line in _counted(stays):
        click.echo(line)


def preview(context: Context, selection: Selection, plan: Plan, limit: int | None) -> None:
    """Say for each selected letter what `plan` would come to, if it were carried out now; nothing is touched."""
    selection, _ = _resolved(context, selection)
    foreseen, words = Preview(context.store, context.engine, context.clock), Counter[str]()
    names = context.topology
    for letter, step in DeadLetters(context).plan(selection, plan, limit or sys.maxsize):
        if isinstance(step, Leave):
            said = [step.reason]
        else:
            said = [foreseen.of(one.body) for one in step.messages if one.routing_key == names.events.name]
            said += [WAKES for one in step.messages if one.routing_key == names.batches.name] + [*step.stays]
        words.update(said)
        click.echo(printable(f"{letter.id}  {'; '.join(said) or 'nothing to do any more'}"))
    click.echo("nothing would be touched: no letter matches" if not words else "in all:")
    for line in _counted(words):
        click.echo(line)


def _counted(words: Counter[str]) -> Iterable[str]:
    return (f"{n:>8,}  {printable(word)}" for word, n in words.most_common())
