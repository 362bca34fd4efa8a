"""`make docs`: the part of docs/providers.md that the registry knows better than any writer."""

from collections.abc import Iterator
from pathlib import Path

from config.settings import Settings, load
from dev.rule_words import table_lines
from providers.base import Answers
from providers.entry import Entry
from providers.reading import reader
from providers.registry import PROVIDERS
from providers.rules import Table

PATH = Path(__file__).parent.parent / "docs" / "providers.md"
BEGIN = "<!-- From here on `make docs` writes: change providers/ instead. -->"
END = "<!-- Up to here `make docs` writes. -->"
MIB = 1024 * 1024


def main() -> None:
    """Write the generated part into the file."""
    PATH.write_text(renewed(PATH.read_text()))


def renewed(text: str) -> str:
    """`text` of the file with the part between the marks made anew. Raises ValueError where a mark is missing."""
    before, _, rest = text.partition(f"{BEGIN}\n")
    _, mark, after = rest.partition(f"{END}\n")
    if not mark:
        raise ValueError(f"{PATH.name} lacks one of the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{generated()}{mark}{after}"


def generated() -> str:
    """Everything about every provider of the registry, as Markdown."""
    defaults = load({})
    parts = [_overview(), *(_provider(name, entry, defaults) for name, entry in PROVIDERS.items())]
    return "".join(f"\n{line}" for part in parts for line in (*part, "")) + "\n"


def _overview() -> Iterator[str]:
    yield "| provider | address | switched on by | proof |"
    yield "|---|---|---|---|"
    for name, entry in PROVIDERS.items():
        yield f"| [{entry.title}](#{_anchor(entry.title)}) | `/webhooks/{name}` | `{entry.setting}` | {entry.proof} |"


def _provider(name: str, entry: Entry, defaults: Settings) -> Iterator[str]:
    yield f"## {entry.title}"
    yield ""
    yield from (f"{number}. {line}" for number, line in enumerate(entry.setup, start=1))
    yield ""
    yield f"Proof: {entry.proof}. {_bounds(reader(name, defaults).answers)}"
    for table_name, table in entry.tables.items():
        yield ""
        if len(entry.tables) > 1:
            yield f"Events, where the rule's name begins with `{table_name}.`:"
            yield ""
        yield from table_lines(table, _switches(table, defaults))


def _bounds(answers: Answers) -> str:
    probes = f" It may ask with {' or '.join(sorted(answers.probes))}, answered 200." if answers.probes else ""
    return (
        f"A post may be up to {answers.body_limit / MIB:g} MiB large. It is answered within {answers.deadline_s:g} "
        f"seconds, with {answers.busy_status} where it must come again.{probes}"
    )


def _switches(table: Table, defaults: Settings) -> dict[str, bool]:
    """Where each policy of `table` stands unless it is set; a policy has the name of its setting."""
    policies = [rule.policy for rule in table.rules if rule.policy]
    owners = {one: defaults if hasattr(defaults, one) else defaults.providers for one in policies}
    return {one: getattr(owner, one) for one, owner in owners.items()}


def _anchor(title: str) -> str:
    """The fragment that Markdown readers give to a heading."""
    kept = "".join(char for char in title.lower() if char.isalnum() or char in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    main()
