"""Every classification table beside an independent copy of the reference, read by an interpreter written anew."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import REMOVING, Kind
from providers import registry
from providers.conditions import Absent, Pattern, Prefix
from providers.enhanced_codes import BAD_ADDRESS
from providers.rules import Classifier, Rule, Table

REFERENCE: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "reference_tables.json").read_text())
TABLES: dict[str, Table] = {
    name: table for entry in registry.PROVIDERS.values() for name, table in entry.tables.items()
}
EVERY_RULE = [pytest.param(name, rule, id=rule.name) for name, table in TABLES.items() for rule in table.rules]
# The verdict of a rule with a policy is the reference's where the switch stands as it does by default.
OFF_BY_DEFAULT = {"resend_unknown_permanent_is_hard", "postal_any_5xx_is_hard", "scaleway_dropped_is_hard"}
# Rules that no event of their own conditions can reach, because they say what is left over: path → a value for it.
LEFT_OVER: dict[str, dict[str, Any]] = {
    "resend.permanent_unknown_sub_type": {"data.bounce.subType": "InventedNextYear"}
}


def default_policies(table: Table) -> dict[str, bool]:
    return {rule.policy: rule.policy not in OFF_BY_DEFAULT for rule in table.rules if rule.policy}


def classifier(name: str) -> Classifier:
    return TABLES[name].ready(default_policies(TABLES[name]))


def reference_line(name: str, event: Any) -> dict[str, Any]:
    """The first line of the reference table that holds, one condition after the other, no index."""
    return next(
        line
        for line in REFERENCE[name]
        if all(reference_holds(reference_value(event, path), wanted) for path, wanted in line["match"].items())
    )


def reference_value(event: Any, path: str) -> Any:
    if not isinstance(event, dict):
        return None
    if event.get(path) is not None:
        return event[path]
    head, _, rest = path.partition(".")
    return reference_value(event.get(head), rest) if rest else None


def reference_holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        text = "" if value is None or isinstance(value, bool | dict | list) else str(value)
        if wanted == {"absent": True}:
            return value is None
        if "prefix" in wanted:
            return text.lower().startswith(wanted["prefix"].lower())
        return re.search(wanted["re"], text) is not None
    if isinstance(wanted, list):
        return any(reference_holds(value, one) for one in wanted)
    if isinstance(wanted, bool):
        return value is wanted
    if value is None or isinstance(value, bool | dict | list):
        return False
    return str(value).lower() == str(wanted).lower()


def put(event: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    for parent in parents:
        if not isinstance(event.get(parent), dict):
            event[parent] = {}
        event = event[parent]
    event[last] = value


def event_for(rule: Rule) -> dict[str, Any]:
    """The smallest event that fulfils every condition of `rule`."""
    event: dict[str, Any] = {}
    for path, condition in rule.match.items():
        one = condition[-1] if isinstance(condition, tuple) else condition
        if isinstance(one, Absent):
            continue
        if isinstance(one, Pattern):
            one = EXAMPLES[one.expression]
        put(event, path, one.text if isinstance(one, Prefix) else one)
    for path, value in LEFT_OVER.get(rule.name, {}).items():
        put(event, path, value)
    return event


# Expression of a condition, ours or the reference's → a text in which it is found.
EXAMPLES = {
    BAD_ADDRESS.expression: "550 5.1.1 no such user",
    r"\b5\.1\.(1|2|3|6|10)\b": "550 5.1.1 no such user",
    r"^5\.1\.(1|2|3|6|10)$": "5.1.1",
    "^5": "550",
    "^(605|606|607)$": "605",
}


@pytest.mark.parametrize(("name", "rule"), EVERY_RULE)
def test_every_rule_is_reached_by_an_event_of_its_own(name: str, rule: Rule) -> None:
    assert classifier(name).judge(event_for(rule)).rule == rule.name


def test_every_reference_table_is_that_of_a_provider() -> None:
    assert set(TABLES) == set(REFERENCE)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_as_many_lines_as_the_reference_with_the_same_kinds(name: str) -> None:
    policies = default_policies(TABLES[name])

    assert [rule.verdict(policies).kind for rule in TABLES[name].rules] == [line["kind"] for line in REFERENCE[name]]


@pytest.mark.parametrize("name", TABLES)
def test_rule_names_are_unique_and_carry_the_table(name: str) -> None:
    rule_names = [rule.name for rule in TABLES[name].rules]

    assert len(set(rule_names)) == len(rule_names)
    assert all(one.startswith(f"{name}.") for one in rule_names)


@pytest.mark.parametrize("name", TABLES)
def test_every_rule_with_a_policy_says_why(name: str) -> None:
    assert all(rule.note for rule in TABLES[name].rules if rule.policy)


def words_for(name: str, path: str) -> list[Any]:
    """Every value that the reference knows for `path`."""
    words: list[Any] = []
    for line in REFERENCE[name]:
        wanted = line["match"].get(path)
        for one in wanted if isinstance(wanted, list) else [wanted]:
            words.append(one.get("prefix", EXAMPLES.get(one.get("re", ""))) if isinstance(one, dict) else one)
    return sorted({word for word in words if word is not None}, key=str)


@st.composite
def events(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """An event whose fields hold what the reference knows, in any case, or something odd, or nothing."""
    event: dict[str, Any] = {}
    odd = st.sampled_from([None, "", True, False, 0, 1, [], {}, ["General"], 1.5, "invented"])
    for path in sorted({path for line in REFERENCE[name] for path in line["match"]}):
        words = words_for(name, path)
        spelt = [*words, *(word.upper() for word in words if isinstance(word, str))]
        known = st.sampled_from(spelt) if spelt else odd
        if draw(st.integers(0, 5)):
            put(event, path, draw(st.one_of(known, known, known, odd)))
    return event


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
def test_generated_events_are_judged_as_the_reference_does(name: str, data: st.DataObject) -> None:
    event = data.draw(events(name))

    assert classifier(name).judge(event).kind == reference_line(name, event)["kind"]


@pytest.mark.parametrize("name", TABLES)
@given(data=st.data())
def test_no_switch_makes_an_event_remove_that_its_rule_did_not_name(name: str, data: st.DataObject) -> None:
    event = data.draw(events(name))
    everything_on = TABLES[name].ready({policy: True for policy in default_policies(TABLES[name])})
    verdict = everything_on.judge(event)
    rule = next(rule for rule in TABLES[name].rules if rule.name == verdict.rule)

    assert verdict.kind not in REMOVING or rule.kind in REMOVING or rule.otherwise in REMOVING
    assert isinstance(verdict.kind, Kind)
