"""The lines of `mailward watch`."""

from datetime import UTC, datetime

from ops.watch_line import line, masked


def test_an_address_is_masked_unless_it_may_be_shown() -> None:
    assert masked("ann@example.com", show=False) == "a***@example.com"
    assert masked("ann@example.com", show=True) == "ann@example.com"
    assert masked('"@"@example.com', show=False) == '"***@example.com'


def test_a_line_holds_nothing_that_a_terminal_obeys() -> None:
    moment = datetime(2026, 11, 29, 12, 30, 45, tzinfo=UTC)

    shown = line(moment, "resend", "complaint", "rule\x1b[2J", "removed", "a***@example.com", "resend:1\r\n")

    assert shown.startswith("12:30:45  resend      complaint     rule?[2J")
    assert shown.isprintable()
