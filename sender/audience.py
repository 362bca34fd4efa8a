"""Who gets a campaign, as an operator uploads it: a stream of NDJSON or CSV, read in slices and never held as a whole.

A line names a person and merge fields, not a record as in a recipient file (core.recipient_files). The address is in
`address` or `email`; an id may be in `recipient_id` or `id`; all else are merge fields.
"""

import csv
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from core.recipient_files import BadFile, BadLine
from sender.audience_lines import Source, lines
from sender.audience_row import SPECIAL, Row, parsed, reason, row

__all__ = ["BadFile", "BadLine", "Row", "Slice", "Source", "read_csv", "read_ndjson"]

SLICE = 5000  # recipients: what one transaction takes, so that no other process waits for seconds


class Slice(NamedTuple):
    """The recipients of some lines in a row, and the lines among them that were not taken."""

    rows: list[Row]
    bad: list[BadLine]


def read_ndjson(source: Source, *, keep_local_case: bool = False, size: int = SLICE) -> Iterator[Slice]:
    """The recipients of an NDJSON stream, one object a line, in slices of `size`; blank lines are passed over."""
    return _sliced(_from_ndjson(source, keep_local_case), size)


def read_csv(source: Source, *, keep_local_case: bool = False, size: int = SLICE) -> Iterator[Slice]:
    """The recipients of a CSV stream with a header, in slices of `size`; all its merge fields are texts.

    Raises BadFile, at the first slice, where the header will not do. Lines are numbered as in the file.
    """
    return _sliced(_from_csv(source, keep_local_case), size)


def _from_ndjson(source: Source, keep_local_case: bool) -> Iterator[Row | BadLine]:
    for number, line in lines(source):
        if isinstance(line, BadLine):
            yield line
        elif text := line.strip():
            try:
                yield row(parsed(text), keep_local_case)
            except ValueError as error:
                yield BadLine(number, reason(error))


def _from_csv(source: Source, keep_local_case: bool) -> Iterator[Row | BadLine]:
    bad: list[BadLine] = []
    rows = csv.reader(_good_lines(source, bad), strict=True)
    header = _header(rows)
    while True:
        try:
            cells = next(rows)
            if cells and not bad:  # with both, a line is missing from the middle of this record
                if len(cells) != len(header):
                    raise ValueError(f"{len(cells)} columns, the header has {len(header)}")
                yield row(dict(zip(header, cells, strict=True)), keep_local_case)
        except StopIteration:
            break
        except (ValueError, csv.Error) as error:
            yield BadLine(rows.line_num, reason(error))
        yield from bad
        bad.clear()
    yield from bad


def _good_lines(source: Source, bad: list[BadLine]) -> Iterator[str]:
    for _, line in lines(source):
        if isinstance(line, BadLine):
            bad.append(line)
            yield "\n"  # keeps the count of lines
        else:
            yield line + "\n"


def _header(rows: Iterator[list[str]]) -> list[str]:
    """The names of the columns; those that are special may be written in any case."""
    try:
        names = [name.strip() for name in next(rows, [])]
    except csv.Error as error:
        raise BadFile(f"the header cannot be read: {error}") from None
    header = [name.lower() if name.lower() in SPECIAL else name for name in names]
    if header.count("address") + header.count("email") != 1:
        raise BadFile("the first line must name the columns, and one of them must be address or email")
    if len(set(header)) != len(header):
        raise BadFile("the header names a column twice")
    return header


def _sliced(read: Iterable[Row | BadLine], size: int) -> Iterator[Slice]:
    rows: list[Row] = []
    bad: list[BadLine] = []
    for one in read:
        if isinstance(one, Row):
            rows.append(one)
        else:
            bad.append(one)
        if len(rows) + len(bad) >= size:
            yield Slice(rows, bad)
            rows, bad = [], []
    if rows or bad:
        yield Slice(rows, bad)
