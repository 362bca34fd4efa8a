"""Values that no provider documents, for any place of a body: tricks with addresses, texts, numbers, other types."""

from typing import Any

from hypothesis import strategies as st

JANE, JOHN, THIRD = "jane.doe@example.com", "john@example.org", "Third.Party@example.net"

ADDRESSES = (
    THIRD,
    f"Third Party <{THIRD}>",
    f'"{THIRD}" <{THIRD}>',
    f" <{THIRD.upper()}>\t",
    f"{JANE}, {THIRD}",
    f"{JANE};{THIRD}",
    f"{JANE} {THIRD}",
    f"<{JANE}> <{THIRD}>",
    f"{JANE} <{THIRD}>",
    f'"{JANE}, {JOHN}" <{THIRD}>',
    f"Doe, Jane <{THIRD}>",
    f"{THIRD}\r\nBcc: {JANE}",
    f"{THIRD}\x00",
    f"{THIRD}(comment)",
    f"{THIRD}@example.org",
    "third.p\u200barty@example.net",
    "th\u0456rd.party@example.net",
    "third.party@\uff45xample.net",
    "third.party@b\u00fccher.example",
    "\ud800third.party@example.net",
    '"third party"@example.net',
    "third.party@[127.0.0.1]",
    "third.party",
    "@example.net",
    "*",
    "x" * 5000 + "@example.net",
)
TEXTS = (
    "",
    " ",
    "\x00",
    "\x1b[2J",
    "\u202e\u2028",
    "\ud800",
    "\u212a",
    "%n%s{0}",
    "'; DROP TABLE journal; --",
    "true",
    "10",
    "5.1.1",
    "10.5.1.1",
    "550 5.1.1 no such user " * 500,
    "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00",
    "2026-02-30T00:00:00Z",
    "2026-11-22T23:41:12.126Z" * 50,
)
NUMBERS = (0, -1, 1, 7, 550, 2**63, 10**400, 1e308, -0.5, float("nan"), float("inf"), 1795390872126)
OTHERS: tuple[Any, ...] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    {"": None},
    [THIRD],
    [JANE, THIRD],
    {"email": THIRD},
    [{}] * 3,
)

ODD = st.one_of(
    st.sampled_from((*ADDRESSES, *TEXTS, *NUMBERS)),
    st.sampled_from(OTHERS),
    st.text(st.characters(exclude_categories=()), max_size=6),  # lone surrogates and controls included
)
