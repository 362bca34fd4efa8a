"""Classification rules: what each condition means, the order of rules, policies, and that no JSON makes them raise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import Kind
from providers.conditions import ABSENT, Condition, Pattern, Prefix
from providers.rules import Classifier, Rule

CATCH_ALL = Rule("other", Kind.OTHER)


def holds(condition: Condition, event: object, key: str = "a.b") -> bool:
    rules = (Rule("hit", Kind.COMPLAINT, {key: condition}), CATCH_ALL)
    return Classifier(rules, discriminator="type").judge(event).rule == "hit"


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("hard", "hard"),
        ("hard", "HARD"),
        ("Hard", "hard"),
        ("512", 512),
        (512, "512"),
        (512, 512),
        (True, True),
        (False, False),
        (("x", "hard"), "Hard"),
        ((1, True), True),
        (ABSENT, None),
        (Prefix("Permanent"), "permanent SMTP error"),
        (Pattern(r"\b5\.1\.(1|2)\b"), "550 5.1.1 no such user"),
        (Pattern("^55"), 550),
    ],
)
def test_a_condition_holds_for(condition: Condition, value: object) -> None:
    assert holds(condition, {"a": {"b": value}})


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("hard", "hardly"),
        ("hard", " hard"),
        ("hard", None),
        ("hard", ["hard"]),
        ("hard", {"hard": 1}),
        ("1", True),
        ("true", True),
        (True, "true"),
        (True, 1),
        (1, True),
        (False, 0),
        (False, None),
        ("risk", "ris\u212a"),
        ("sent", "\u017fent"),
        (("x", "y"), "z"),
        ((), "z"),
        (ABSENT, ""),
        (ABSENT, False),
        (Prefix("Permanent"), "not Permanent"),
        (Prefix("Permanent"), None),
        (Pattern("5"), None),
        (Pattern("hard"), ["hard"]),
        pytest.param("1", 10**5000, id="an endless number"),
    ],
)
def test_a_condition_does_not_hold_for(condition: Condition, value: object) -> None:
    assert not holds(condition, {"a": {"b": value}})


@pytest.mark.parametrize(
    "event", [{}, {"a": None}, {"a": {}}, {"a": {"b": None}}, {"a": "b"}, {"a": []}, {"a.b": None}]
)
def test_null_and_missing_are_the_same_at_every_depth(event: object) -> None:
    assert holds(ABSENT, event)


def test_a_key_that_stands_there_whole_is_tried_before_its_parts() -> None:
    assert holds("whole", {"a.b": "whole", "a": {"b": "parts"}})


def test_hyphens_in_a_key_are_literal() -> None:
    assert holds("x", {"event-data": {"delivery-status": "x"}}, key="event-data.delivery-status")


def test_the_first_match_wins() -> None:
    rules = (
        Rule("narrow", Kind.HARD_BOUNCE, {"type": "bounce", "class": "hard"}),
        Rule("wide", Kind.SOFT_BOUNCE, {"type": "bounce"}),
        Rule("never", Kind.COMPLAINT, {"type": "bounce", "class": "soft"}),
        CATCH_ALL,
    )
    judge = Classifier(rules, discriminator="type").judge

    assert [judge({"type": "bounce", "class": word}).rule for word in ("hard", "soft")] == ["narrow", "wide"]


def test_rules_that_do_not_list_the_discriminator_keep_their_place() -> None:
    rules = (
        Rule("incoming", Kind.OTHER, {"direction": "in"}),
        Rule("typed", Kind.COMPLAINT, {"type": ("spam", 7)}),
        Rule("untyped", Kind.SOFT_BOUNCE, {"type": ABSENT}),
        Rule("flagged", Kind.REJECTED, {"type": (True, "drop")}),
        CATCH_ALL,
    )
    judge = Classifier(rules, discriminator="type").judge
    events = [{"type": "spam", "direction": "in"}, {"type": "SPAM"}, {"type": 7}, {}, {"type": True}, {"type": "drop"}]

    assert [judge(event).rule for event in [*events, {"type": "new"}]] == [
        "incoming", "typed", "typed", "untyped", "flagged", "flagged", "other",
    ]  # fmt: skip


@pytest.mark.parametrize(("switch", "kind"), [(True, Kind.HARD_BOUNCE), (False, Kind.REJECTED)])
def test_a_policy_chooses_between_the_two_kinds_of_its_rule(switch: bool, kind: Kind) -> None:
    rules = (
        Rule("listed", Kind.HARD_BOUNCE, {"type": "x"}, policy="listed_is_hard", otherwise=Kind.REJECTED),
        CATCH_ALL,
    )

    assert Classifier(rules, "type", {"listed_is_hard": switch}).judge({"type": "x"}).kind is kind


def test_a_policy_without_a_setting_is_a_fault_of_the_programme() -> None:
    rules = (Rule("listed", Kind.HARD_BOUNCE, {"type": "x"}, policy="p", otherwise=Kind.REJECTED), CATCH_ALL)

    with pytest.raises(KeyError):
        Classifier(rules, "type")


def test_a_policy_without_its_other_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="come together"):
        Rule("half", Kind.HARD_BOUNCE, policy="p")


@pytest.mark.parametrize("rules", [(), (Rule("only", Kind.OTHER, {"type": "x"}),)])
def test_a_table_that_does_not_end_in_a_catch_all_is_refused(rules: tuple[Rule, ...]) -> None:
    with pytest.raises(ValueError, match="match everything"):
        Classifier(rules, "type")


any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["a", "b", "type"])),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.sampled_from(["type", "a", "b", "a.b"]), inner)),
)


@given(any_json)
def test_no_json_makes_a_table_raise(event: object) -> None:
    conditions: list[Condition] = ["x", 5, True, ("x", True), ABSENT, Prefix("x"), Pattern("x")]
    rules = [Rule(f"rule {n}", Kind.COMPLAINT, {"a.b": one, "type": one}) for n, one in enumerate(conditions)]

    assert Classifier([*rules, CATCH_ALL], "type").judge(event).rule
