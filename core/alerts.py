"""The alert contract: when an alert fires, repeats and clears, and the rules. Pure.

An alert fires strictly above its threshold, once per crossing; it clears at its clear level or below, and repeats while
it fires. What could not be told is told again at the next look, whatever has been restarted in between.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

HOUR_S, DAY_S = 3600.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Rule:
    """When to tell whom what. `says` is a sentence with {value} and {subject}; `command` is what to run then."""

    name: str
    threshold: float
    clear_level: float
    repeat_s: float
    says: str
    impact: str
    can_wait: bool  # until the morning
    command: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A value found for a rule and a subject, or None where nobody can find it out."""

    rule: Rule
    subject: str
    value: float | None


class Status(StrEnum):
    """What a message about an alert is."""

    FIRING = "firing"
    STILL_FIRING = "still firing"
    CLEARED = "cleared"


@dataclass(frozen=True, slots=True)
class State:
    """What is remembered of an alert: since when it fires, and when that was last told.

    Only `told_at`: it has cleared, which nobody has been told.
    """

    since: datetime | None = None
    told_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tell:
    """Something to tell; `since` is when the alert began to fire."""

    status: Status
    since: datetime


def judge(rule: Rule, value: float | None, state: State, now: datetime) -> tuple[State, Tell | None]:
    """The state after a look that found `value`, and what to tell; None is a value that nobody could find out."""
    if value is None:
        return state, _overdue(rule, state, now)
    if state.since is None and value > rule.threshold:
        state = replace(state, since=now)
    elif state.since is not None and value <= rule.clear_level:
        state = State(None, state.told_at)
    return state, _overdue(rule, state, now)


def told(state: State, tell: Tell, now: datetime) -> State:
    """The state once `tell` has reached its channel."""
    return State() if tell.status is Status.CLEARED else replace(state, told_at=now)


def _overdue(rule: Rule, state: State, now: datetime) -> Tell | None:
    if state.since is None:
        return None if state.told_at is None else Tell(Status.CLEARED, state.told_at)
    if state.told_at is None:
        return Tell(Status.FIRING, state.since)
    if now - state.told_at >= timedelta(seconds=rule.repeat_s):
        return Tell(Status.STILL_FIRING, state.since)
    return None


# Thresholds are those of the design; the clear levels lie lower, so that a value which hovers does not flap.
DEAD_LETTERS = Rule(
    "dead_letters", 100, 80, 6 * HOUR_S,
    "{value:,.0f} dead letters in {subject}, more than 100",
    "each is an event or a batch that has had no effect; removals among them have not happened",
    True, "mailward dlq list",
)  # fmt: skip
OLD_DEAD_LETTER = Rule(
    "old_dead_letter", 24, 24, DAY_S,
    "the oldest dead letter of {subject} is {value:,.0f} hours old, more than 24",
    "somebody who complained or whose address is dead may still be mailed, or a batch waits",
    True, "mailward dlq list",
)  # fmt: skip
DUPLICATES = Rule(
    "duplicates", 10, 0, HOUR_S,
    "{value:,.0f} duplicates detected within 10 minutes, more than 10",
    "recipients get a mail twice: pause what is running",
    False, "mailward status; mailward campaign pause ID",
)  # fmt: skip
CONSUMER_MISSING = Rule(
    "consumer_missing", 120, 60, HOUR_S,
    "the process {subject} does not run, or has not been able to work for {value:,.0f} s, more than 120",
    "its queue only grows: events remove nobody, or campaigns stand still",
    False, "mailward status; then start `python -m consumer {subject}`",
)  # fmt: skip
UNKNOWN_SENDS = Rule(
    "unknown_sends", 0, 0, DAY_S,
    "of {value:,.0f} mails nobody knows whether the provider took them",
    "they are not sent again by themselves; webhooks may still settle them",
    True, "mailward status; mailward campaign resolve CALL --assume-sent | --resend",
)  # fmt: skip
NO_PROGRESS = Rule(
    "no_progress", 10, 0, HOUR_S,
    "campaign {subject} runs and has not moved for {value:,.0f} minutes, more than 10",
    "its recipients wait for their mail",
    False, "mailward status; mailward campaign pause {subject}",
)  # fmt: skip
SIGNATURES_REFUSED = Rule(
    "signatures_refused", 0, 0, HOUR_S,
    "all {value:,.0f} webhooks of {subject} within 10 minutes were refused for their proof",
    "no event of this provider arrives: the secret was probably changed on one side; providers give up after hours",
    False, "mailward check",
)  # fmt: skip
REMOVALS_ABSENT = Rule(
    "removals_absent", 50, 40, DAY_S,
    "{value:,.0f} % of the removals within an hour found no record, more than 50 %",
    "RECIPIENT_KEY may not be the key that the application uses, or Redis has lost its records",
    True, "mailward check; mailward recipients why ADDRESS",
)  # fmt: skip
RULES = {
    rule.name: rule
    for rule in (
        DEAD_LETTERS, OLD_DEAD_LETTER, DUPLICATES, CONSUMER_MISSING, UNKNOWN_SENDS, NO_PROGRESS, SIGNATURES_REFUSED,
        REMOVALS_ABSENT,
    )
}  # fmt: skip
