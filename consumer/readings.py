"""What the alerts look at, measured: one value for each rule and subject, or None where nobody can find out."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select, text

from core import alerts, counts, heartbeats
from core.alerts import Reading
from core.decide import Outcome
from core.ledger.completion import stalled
from core.queue_looks import Look
from core.tables import MICROSECOND, dead_letter_log, from_us
from core.telemetry import Series
from core.topology import Topology

MINUTE_US = 60_000_000
STALLED_US = 10 * MINUTE_US
DUPLICATES_WITHIN, PROOFS_WITHIN, REMOVALS_WITHIN = timedelta(minutes=10), timedelta(minutes=10), timedelta(hours=1)
FEWEST_REFUSED, FEWEST_REMOVALS = 5, 20  # a stray request, or a handful of removals, says nothing
NO_PROOF = frozenset({"too_large", "unknown_provider"})  # refusals that say nothing about secrets
_UNKNOWN = text("""SELECT count(*) FROM send_call AS c CROSS JOIN delivery_ledger AS d
WHERE c.state IN ('unknown') AND d.campaign_id = c.campaign_id AND d.recipient_id BETWEEN c.first_id AND c.last_id
AND d.call_id = c.id AND d.status = 'reserved'""")
_SENDING = text("SELECT count(*) FROM campaign WHERE state = 'running'")


def of_queues(
    connection: Connection, looks: Mapping[str, Look] | None, topology: Topology, now: datetime
) -> Iterator[Reading]:
    """Depth and age of the dead letters; `looks` is None while the broker is away."""
    oldest = select(dead_letter_log.c.queue, func.min(dead_letter_log.c.failed_at)).group_by(dead_letter_log.c.queue)
    failed_at: dict[str, int] = {
        queue: at for queue, at in connection.execute(oldest.where(dead_letter_log.c.closed_at.is_(None)))
    }
    for work in topology.work_queues:
        look = None if looks is None else looks.get(work.dead_letters)
        known = look is not None and not look.scanned
        yield Reading(alerts.DEAD_LETTERS, work.dead_letters, look.ready if look and known else None)
        hours = (now - from_us(failed_at[work.name])) / timedelta(hours=1) if work.name in failed_at else 0.0
        age = None if look is None or not known else hours if look.ready else 0.0
        yield Reading(alerts.OLD_DEAD_LETTER, work.dead_letters, age)


def of_processes(connection: Connection, up_since: datetime, now: datetime, pulls: bool = False) -> Iterator[Reading]:
    """How long the consumers have been silent; `up_since` is when we began to listen, `pulls` as in Monitor."""
    newest = heartbeats.newest(heartbeats.beats(connection))
    expected = ["events"] + (["sends"] if connection.execute(_SENDING).scalar_one() else [])
    expected += ["cloudflare"] if pulls else []
    for process in expected:
        rule = alerts.CONSUMER_MISSING
        silent_s = (now - newest.get(process, up_since)) / timedelta(seconds=1)
        # After an outage, or a deploy of everything, others may be late for the reason for which we were.
        just_up = silent_s > rule.threshold and now - up_since < timedelta(seconds=rule.threshold)
        yield Reading(rule, process, None if just_up else silent_s)


def of_campaigns(connection: Connection, now: datetime) -> Iterator[Reading]:
    """Unknown deliveries, and campaigns that do not move."""
    yield Reading(alerts.UNKNOWN_SENDS, "", connection.execute(_UNKNOWN).scalar_one())
    for one in stalled(connection, STALLED_US):
        since = from_us(one.since)
        # Strictly above ten minutes, as the rule says it, from the moment on at which it counts as stalled.
        minutes = max((now - since + MICROSECOND) / timedelta(minutes=1), alerts.NO_PROGRESS.threshold + 0.001)
        yield Reading(alerts.NO_PROGRESS, one.campaign_id, minutes)


def of_counters(connection: Connection, now: datetime) -> Iterator[Reading]:
    """Duplicates, proofs refused, and removals that found nothing."""
    recent = counts.totals(connection, now - DUPLICATES_WITHIN)
    duplicates = sum(n for (name, _, _), n in recent.items() if name == Series.DUPLICATE_DETECTED)
    yield Reading(alerts.DUPLICATES, "", duplicates)
    yield from _proofs(counts.totals(connection, now - PROOFS_WITHIN))
    yield Reading(alerts.REMOVALS_ABSENT, "", _absent_share(counts.totals(connection, now - REMOVALS_WITHIN)))


def _proofs(totals: Mapping[tuple[str, str, str], int]) -> Iterator[Reading]:
    for provider in sorted({provider for name, provider, _ in totals if name == Series.REFUSED}):
        refused = sum(
            n
            for (name, of, reason), n in totals.items()
            if (name, of) == (Series.REFUSED, provider) and reason not in NO_PROOF
        )
        proven = any(name in (Series.ACCEPTED, Series.COUNTED) and of == provider for name, of, _ in totals)
        all_refused = refused >= FEWEST_REFUSED and not proven
        yield Reading(alerts.SIGNATURES_REFUSED, provider, refused if all_refused else 0)


def _absent_share(totals: Mapping[tuple[str, str, str], int]) -> float:
    """Per cent of the removals that found no record, 0 while there are too few to tell."""
    by_outcome = {outcome: 0 for outcome in (Outcome.REMOVED, Outcome.ABSENT)}
    for (name, _, label), n in totals.items():
        if name == Series.OUTCOME and label in (Outcome.REMOVED, Outcome.ABSENT):
            by_outcome[Outcome(label)] += n
    removals = sum(by_outcome.values())
    return 100 * by_outcome[Outcome.ABSENT] / removals if removals >= FEWEST_REMOVALS else 0.0
