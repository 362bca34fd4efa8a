"""The audience and the mail of the ledger's bench: shuffled ids, addresses of a usual length, 10 KB of HTML."""

import random
from pathlib import Path

HTML_BYTES = 10_000
_LINES = 50_000  # written at once


def write(path: Path, recipients: int) -> Path:
    """An NDJSON file of `recipients`, in no order of their ids or addresses; returns its path."""
    numbers = list(range(recipients))
    random.Random(2026).shuffle(numbers)
    with path.open("w") as out:
        for start in range(0, recipients, _LINES):
            out.writelines(
                f'{{"id":"u{n:07}","email":"reader.{(n * 7919) % 10_000_019:08}@example.com","name":"Reader {n}"}}\n'
                for n in numbers[start : start + _LINES]
            )
    return path


def html() -> str:
    """A made-up newsletter with one merge field: words that do not repeat too well, and the tags around them."""
    dice = random.Random(2026)
    words = ["".join(dice.choices("etaoinshrdlcum", k=dice.randint(2, 9))) for _ in range(800)]
    parts = ["<p>Hello {{ name }},</p>"]
    while sum(map(len, parts)) < HTML_BYTES:
        line = " ".join(dice.choices(words, k=12))
        parts.append(f'<p style="margin:0 0 12px"><a href="https://example.org/{dice.choice(words)}">{line}</a></p>')
    return "".join(parts)[:HTML_BYTES]


MAIL = {"from": "News <news@example.org>", "subject": "Hello {{ name }}", "html": html()}
