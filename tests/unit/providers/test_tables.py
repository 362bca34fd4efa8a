"""The classification tables beside an independent copy of the reference, read by an interpreter written anew."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import Kind
from providers import cloudflare, resend
from providers.conditions import Absent
from providers.rules import Classifier, Rule

REFERENCE: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "reference_tables.json").read_text())
TABLES: dict[str, Sequence[Rule]] = {"resend": resend.RULES, "cloudflare": cloudflare.RULES}
DEFAULTS = {"resend_suppressed_is_hard": True, "resend_unknown_permanent_is_hard": False}
EVERY_RULE = [pytest.param(name, rule, id=rule.name) for name, rules in TABLES.items() for rule in rules]


def reference_kind(provider: str, event: dict[str, Any]) -> str:
    """The verdict of the reference table, one condition after the other, no index."""
    for rule in REFERENCE[provider]:
        if all(reference_holds(reference_value(event, path), wanted) for path, wanted in rule["match"].items()):
            return str(rule["kind"])
    raise AssertionError("the reference table has no last line")


def reference_value(event: Any, path: str) -> Any:
    head, _, rest = path.partition(".")
    value = event.get(head) if isinstance(event, dict) else None
    return reference_value(value, rest) if rest else value


def reference_holds(value: Any, wanted: Any) -> bool:
    if wanted == {"absent": True}:
        return value is None
    if isinstance(wanted, list):
        return any(reference_holds(value, one) for one in wanted)
    if isinstance(wanted, bool):
        return value is wanted
    return isinstance(value, str) and value.lower() == wanted.lower()


def classifier(provider: str) -> Classifier:
    return Classifier(TABLES[provider], "type", DEFAULTS)


def event_for(rule: Rule) -> dict[str, Any]:
    """The smallest event that fulfils every condition of `rule`."""
    event: dict[str, Any] = {}
    for path, condition in rule.match.items():
        if isinstance(condition, Absent):
            continue
        *parents, last = path.split(".")
        target = event
        for parent in parents:
            target = target.setdefault(parent, {})
        target[last] = condition[-1] if isinstance(condition, tuple) else condition
    return event


@pytest.mark.parametrize(("provider", "rule"), EVERY_RULE)
def test_every_rule_is_reached_by_an_event_of_its_own(provider: str, rule: Rule) -> None:
    event = event_for(rule)
    if rule.name == "resend.permanent_unknown_sub_type":
        event["data"]["bounce"]["subType"] = "InventedNextYear"

    assert classifier(provider).judge(event).rule == rule.name


@pytest.mark.parametrize("provider", TABLES)
def test_a_table_has_as_many_lines_as_the_reference_with_the_same_kinds(provider: str) -> None:
    verdicts = [rule.verdict(DEFAULTS).kind for rule in TABLES[provider]]

    assert verdicts == [line["kind"] for line in REFERENCE[provider]]


@pytest.mark.parametrize("provider", TABLES)
def test_rule_names_are_unique_and_carry_the_provider(provider: str) -> None:
    rule_names = [rule.name for rule in TABLES[provider]]

    assert len(set(rule_names)) == len(rule_names)
    assert all(name.startswith(f"{provider}.") for name in rule_names)


@pytest.mark.parametrize("provider", TABLES)
def test_every_rule_with_a_policy_says_why(provider: str) -> None:
    assert all(rule.note for rule in TABLES[provider] if rule.policy)


def words_of(provider: str, path: str) -> list[str]:
    """Every text that the reference knows for `path`."""
    wanted = [line["match"].get(path) for line in REFERENCE[provider]]
    return sorted(
        {word for one in wanted for word in (one if isinstance(one, list) else [one]) if isinstance(word, str)}
    )


def odd(words: list[str]) -> st.SearchStrategy[Any]:
    known = st.sampled_from([*words, *(word.upper() for word in words), "invented"])
    return st.one_of(known, known, known, st.sampled_from([None, "", True, False, 0, 1, [], {}, ["General"], 1.5]))


resend_events = st.fixed_dictionaries(
    {
        "type": odd(words_of("resend", "type")),
        "data": st.one_of(
            st.sampled_from([None, [], "x"]),
            st.fixed_dictionaries(
                {},
                optional={
                    "unsubscribed": st.sampled_from([True, False, None, "true", 1]),
                    "bounce": st.one_of(
                        st.sampled_from([None, [], "Permanent"]),
                        st.fixed_dictionaries(
                            {},
                            optional={
                                "type": odd(words_of("resend", "data.bounce.type")),
                                "subType": odd(words_of("resend", "data.bounce.subType")),
                            },
                        ),
                    ),
                },
            ),
        ),
    }
)
cloudflare_events = st.fixed_dictionaries(
    {
        "type": odd(words_of("cloudflare", "type")),
        "payload": st.fixed_dictionaries(
            {},
            optional={
                "bounce": st.one_of(st.none(), st.fixed_dictionaries({}, optional={"type": odd(["hard", "soft"])}))
            },
        ),
    }
)


@given(resend_events)
def test_resend_judges_generated_events_as_the_reference_does(event: dict[str, Any]) -> None:
    assert classifier("resend").judge(event).kind == reference_kind("resend", event)


@given(cloudflare_events)
def test_cloudflare_judges_generated_events_as_the_reference_does(event: dict[str, Any]) -> None:
    assert classifier("cloudflare").judge(event).kind == reference_kind("cloudflare", event)


@given(resend_events)
def test_nothing_but_a_complaint_or_a_permanent_bounce_ever_removes_at_resend(event: dict[str, Any]) -> None:
    kind = Classifier(resend.RULES, "type", dict.fromkeys(DEFAULTS, True)).judge(event).kind
    if kind not in {Kind.HARD_BOUNCE, Kind.COMPLAINT}:
        return
    bounced = event["type"].lower() == "email.bounced" and event["data"]["bounce"]["type"].lower() == "permanent"

    assert event["type"].lower() == "email.complained" or bounced
