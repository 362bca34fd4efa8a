"""An upload of an audience: which reader takes which form, and what came of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from core.ledger.draft import Entry
from core.ledger.loading import Loaded
from sender.audience import BadLine, Slice, read_csv, read_ndjson

READERS = {"ndjson": read_ndjson, "csv": read_csv}
SHOWN = 100  # bad lines that are told; all are counted


@dataclass(slots=True)
class Uploaded:
    """What an upload came to; `bad` lines were not taken, the first of them are in `bad_lines`."""

    loaded: Loaded = field(default_factory=lambda: Loaded(0, 0))
    bad: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)

    def rows(self, slices: Iterable[Slice]) -> Iterator[Sequence[Entry]]:
        """The rows of `slices`, while the bad lines among them are counted here."""
        for one in slices:
            self.bad += len(one.bad)
            self.bad_lines += one.bad[: SHOWN - len(self.bad_lines)]
            yield one.rows
