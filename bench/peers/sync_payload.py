"""The complaint that every peer gets, as the provider shapes it."""

from typing import Any


def complaint(number: int) -> dict[str, Any]:
    """A Resend complaint about recipient `number`."""
    return {
        "type": "email.complained",
        "created_at": "2026-11-22T23:41:12.126Z",
        "data": {
            "email_id": f"56761188-7520-42d8-8898-{number:012d}",
            "to": [f"user{number}@example.com"],
            "from": "Acme <news@example.org>",
            "subject": "Hello",
        },
    }
