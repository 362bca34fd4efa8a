"""What the demo shows: a table of what went in and what came of it, and how to go on by hand."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dev.demo_poster import Posted
from dev.demo_stream import Group

ROW = "{:<46} {:>6} {:>22} {:>6} {:>6}"


def table(posted: Sequence[tuple[Group, list[Posted]]], stored: set[str], left: set[str]) -> str:
    """One line for each sort of post: how many, how they were answered, whose records are gone and whose are kept."""
    lines = [ROW.format("posted", "posts", "answers", "gone", "kept"), "-" * 90]
    for group, answers in posted:
        statuses = Counter(answer.status for answer in answers)
        shown = ", ".join(f"{n} x {status}" for status, n in sorted(statuses.items()))
        kept = sum(address in left for address in group.addresses)
        gone = sum(address in stored for address in group.addresses) - kept
        lines.append(ROW.format(group.title, len(answers), shown, gone, kept))
    return "\n".join(lines) + "\n"


def wrongly_kept_or_removed(groups: Sequence[Group], stored: set[str], left: set[str]) -> set[str]:
    """Addresses whose record is there though it must be gone, or gone though nothing allowed that."""
    must_go = {address for group in groups if group.gone for address in group.addresses}
    return (must_go & left) | (stored - must_go - left)


def next_steps(url: str, environ: Path) -> str:
    """What a person can do now, in a second terminal."""
    return f"""
Still serving at {url}. In a second terminal, in this folder:

  . {environ}                                   # the settings of this run
  mailward send-test-event --provider resend --kind complaint --to reader0900@example.com --url {url}/webhooks/resend
  mailward recipients why reader0900@example.com
  mailward dlq list
  mailward watch

Ctrl-C stops everything.
"""
