"""The columns of a line of `mailward watch`."""

from datetime import datetime


def line(moment: datetime, provider: str, kind: str, rule: str, outcome: str, address: str, event_id: str) -> str:
    """One line: time of day (UTC), provider, kind, rule, outcome, address, event id."""
    columns = (
        f"{moment:%H:%M:%S}", f"{provider:<10}", f"{kind:<12}", f"{rule:<28}", f"{outcome:<10}", address, event_id,
    )  # fmt: skip
    return "".join(one if one.isprintable() else "?" for one in "  ".join(columns)).rstrip()


def masked(address: str, show: bool) -> str:
    """`address` as it is with `show`, else its first letter and its domain."""
    if show:
        return address
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}***@{domain}"
