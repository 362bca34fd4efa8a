"""What the counters tell of providers, and how it is shown."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from core.counts import Seen
from ops.provider_activity import Activity, Refused, activity
from ops.provider_text import Listed, Listing, document, table
from providers.resend import ENTRY
from tests.unit.ops.letter_samples import NOON

LATER = NOON + timedelta(minutes=1)
NOTHING = Activity(None, (), ())


def seen(**last: Any) -> dict[tuple[str, str, str], Seen]:
    """Counters of resend by series, each with label and minute."""
    return {(name, "resend", label): Seen(minute, 1) for name, (label, minute) in last.items()}


def listing(found: Activity, configured: bool = True, strangers: tuple[Refused, ...] = ()) -> Listing:
    one = Listed("resend", ENTRY, configured, found)
    return Listing([one], strangers, NOON - timedelta(days=30), NOON + timedelta(minutes=5))


def test_a_provider_that_nobody_posted_to_has_no_activity() -> None:
    other = {("accepted", "cloudflare", "complaint"): Seen(NOON, 1)}

    assert activity(other, "resend") == NOTHING


def test_the_last_accepted_post_is_the_newest_of_all_that_an_accepted_post_counts() -> None:
    assert activity(seen(accepted=("complaint", NOON), counted=("other", LATER)), "resend").accepted == LATER
    assert activity(seen(accepted=("complaint", NOON), secret=("1 of 1", LATER)), "resend").accepted == LATER


def test_a_refusal_is_not_an_acceptance() -> None:
    found = activity(seen(refused=("bad_signature", NOON)), "resend")

    assert found == Activity(None, (), (Refused("bad_signature", NOON, 1),))


def test_the_secret_is_that_of_the_newest_minute() -> None:
    counted = {("secret", "resend", "1 of 2"): Seen(LATER, 1), ("secret", "resend", "2 of 2"): Seen(NOON, 90)}

    assert activity(counted, "resend").secrets == ("1 of 2",)


def test_two_secrets_of_one_minute_are_both_told_because_nobody_knows_which_was_last() -> None:
    counted = {("secret", "resend", "2 of 2"): Seen(NOON, 1), ("secret", "resend", "1 of 2"): Seen(NOON, 90)}

    assert activity(counted, "resend").secrets == ("1 of 2", "2 of 2")


def test_refusals_stand_with_the_newest_first() -> None:
    counted = {
        ("refused", "resend", "stale"): Seen(NOON, 2),
        ("refused", "resend", "bad_signature"): Seen(NOON, 1),
        ("refused", "resend", "too_large"): Seen(LATER, 3),
    }

    refused = activity(counted, "resend").refused

    assert [one.reason for one in refused] == ["too_large", "bad_signature", "stale"]


def test_the_table_tells_setting_proof_time_secret_and_refusals() -> None:
    found = Activity(NOON, ("1 of 2",), (Refused("bad_signature", LATER, 1204),))

    assert [*table(listing(found))][:4] == [
        "PROVIDER      CONFIGURED                                    LAST ACCEPTED     SECRET",
        "resend        yes: RESEND_WEBHOOK_SECRETS is set            2026-11-01 12:00  1 of 2",
        "              proof: HMAC-SHA256 over id, time and body (Svix)",
        "              refused: bad_signature, 1,204 times, last 2026-11-01 12:01",
    ]


def test_a_provider_without_its_setting_is_listed_with_what_is_missing() -> None:
    line = [*table(listing(NOTHING, configured=False))][1]

    assert line.split() == ["resend", "no:", "RESEND_WEBHOOK_SECRETS", "is", "not", "set", "-", "-"]


def test_posts_to_no_provider_are_told_apart() -> None:
    shown = [*table(listing(NOTHING, strangers=(Refused("unknown_provider", NOON, 1),)))]

    assert (
        shown[-3]
        == "no such provider, or not configured (404): refused: unknown_provider, 1 time, last 2026-11-01 12:00"
    )


def test_the_table_says_how_exact_its_times_are() -> None:
    assert [*table(listing(NOTHING))][-2:] == [
        "Counted from 2026-10-02 12:00 to 2026-11-01 12:05 UTC. A time is the minute in which the last",
        "count was written, which is seconds after the post, or longer where SQL was away.",
    ]


def test_the_document_says_the_same() -> None:
    found = Activity(NOON, ("1 of 2",), (Refused("stale", LATER, 3),))

    said = document(replace(listing(found), strangers=(Refused("unknown_provider", NOON, 7),)))

    assert said["resolution_s"] == 60
    assert said["providers"] == [
        {
            "name": "resend",
            "title": "Resend",
            "configured": True,
            "setting": "RESEND_WEBHOOK_SECRETS",
            "proof": "HMAC-SHA256 over id, time and body (Svix)",
            "last_accepted": "2026-11-01T12:00:00+00:00",
            "last_secrets": ["1 of 2"],
            "refused": [{"reason": "stale", "last": "2026-11-01T12:01:00+00:00", "count": 3}],
        }
    ]
    assert [one["count"] for one in said["not_configured"]] == [7]
