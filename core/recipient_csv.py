"""Recipients as CSV in UTF-8 with a header: a bad row is reported with its line number and stops nothing.

A column `address`, and either `record` (stored exactly as it is written, `{}` where empty) and `eligible_since`, which
says when consent was given, or any other columns, which become a JSON object of texts.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from core import records
from core.addresses import normalise
from core.recipient_files import BadFile, BadLine, Read, Recipient, Source, lines, recipient


def read(source: Source, now: datetime, *, keep_local_case: bool = False) -> Read:
    """Every row of a CSV stream as a Recipient or a BadLine (numbered by lines); raises BadFile for a bad header."""
    bad: list[BadLine] = []
    rows = csv.reader(_good_lines(source, bad), strict=True)
    header = _header(rows)
    while True:
        try:
            row = next(rows)
            if row:
                yield _from_row(rows.line_num, header, row, now, keep_local_case)
        except StopIteration:
            break
        except (ValueError, csv.Error) as error:
            yield BadLine(rows.line_num, str(error))
        yield from bad
        bad.clear()
    yield from bad


def _good_lines(source: Source, bad: list[BadLine]) -> Iterator[str]:
    for _, line in lines(source):
        if isinstance(line, BadLine):
            bad.append(line)
            yield "\n"  # keeps the count of lines
        else:
            yield line


def _header(rows: Iterator[list[str]]) -> list[str]:
    try:
        header = [name.strip() for name in next(rows, [])]
    except csv.Error as error:
        raise BadFile(f"the header cannot be read: {error}") from None
    if header.count("address") != 1:
        raise BadFile("the first line must name the columns, and one of them must be address")
    if len(set(header)) != len(header):
        raise BadFile("the header names a column twice")
    if "record" in header and not set(header) <= {"address", "record", "eligible_since"}:
        raise BadFile("beside a column record there may be address and eligible_since only")
    return header


def _from_row(
    number: int, header: Sequence[str], row: Sequence[str], now: datetime, keep_local_case: bool
) -> Recipient:
    if len(row) != len(header):
        raise ValueError(f"{len(row)} columns, the header has {len(header)}")
    data = dict(zip(header, row, strict=True))
    address = normalise(data.pop("address"), keep_local_case=keep_local_case).normal
    if "record" in data:
        return recipient(number, address, data["record"].encode() or records.EMPTY, data.get("eligible_since"), now)
    since = data.pop(records.FENCE, None)
    record = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
    return recipient(number, address, record, since, now)
