"""docs/providers.md says what the registry says; `make docs` writes it."""

import pytest

from core.events import Kind
from dev import provider_docs
from dev.rule_words import table_lines, when
from providers.conditions import ABSENT, Pattern, Prefix
from providers.registry import PROVIDERS
from providers.rules import Rule, Table
from providers.signatures import Refusal

DOCUMENT = provider_docs.PATH.read_text()


def row(rule: Rule, **switches: bool) -> list[str]:
    """The cells of the row of `rule`: name, when, kind, what happens."""
    line = [*table_lines(Table((rule,), "type"), switches)][2]
    return [cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")]


def test_the_document_is_what_make_docs_would_write() -> None:
    assert provider_docs.renewed(DOCUMENT) == DOCUMENT, "run `make docs`"


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_provider_is_told_with_its_address_setting_and_every_rule(name: str) -> None:
    entry = PROVIDERS[name]
    generated = provider_docs.generated()

    assert f"| `/webhooks/{name}` | `{entry.setting}` | {entry.proof} |" in generated
    assert all(f"\n{number}. {line}\n" in generated for number, line in enumerate(entry.setup, 1))
    assert all(f"| `{rule.name}` | " in generated for table in entry.tables.values() for rule in table.rules)


def test_the_links_of_the_overview_lead_to_different_places() -> None:
    anchors = [provider_docs._anchor(entry.title) for entry in PROVIDERS.values()]

    assert len(set(anchors)) == len(anchors)
    assert all(f"(#{anchor})" in provider_docs.generated() for anchor in anchors)


@pytest.mark.parametrize("reason", Refusal)
def test_every_reason_of_a_refusal_is_explained(reason: Refusal) -> None:
    assert f"`{reason}`" in DOCUMENT


def test_what_is_written_by_hand_stays() -> None:
    text = f"before\n{provider_docs.BEGIN}\nold\n{provider_docs.END}\nafter\n"

    renewed = provider_docs.renewed(text)

    assert renewed.startswith(f"before\n{provider_docs.BEGIN}\n\n| provider |")
    assert renewed.endswith(f"{provider_docs.END}\nafter\n")
    assert "old" not in renewed.splitlines()


@pytest.mark.parametrize("mark", [provider_docs.BEGIN, provider_docs.END])
def test_a_file_without_its_marks_is_not_written_over(mark: str) -> None:
    with pytest.raises(ValueError, match="lacks one of the lines"):
        provider_docs.renewed(DOCUMENT.replace(mark, ""))


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ({}, "everything else"),
        ({"type": "bounce"}, "`type` is `bounce`"),
        ({"type": "bounce", "code": 550}, "`type` is `bounce`, `code` is `550`"),
        ({"type": ("a", "b", 3)}, "`type` is `a`, `b` or `3`"),
        ({"type": ("a",)}, "`type` is `a`"),
        ({"hard": True}, "`hard` is `true`"),
        ({"code": ""}, "`code` is empty"),
        ({"code": ABSENT}, "`code` is missing"),
        ({"code": Prefix("5.1")}, "`code` begins with `5.1`"),
        ({"code": Pattern("^5")}, "`code` begins with `5`"),
        ({"code": Pattern("^(605|606)$")}, "`code` is `605` or `606`"),
        ({"code": Pattern(r"^5\.1\.(1|2|10)$")}, "`code` is `5.1.1`, `5.1.2` or `5.1.10`"),
        ({"said": Pattern(r"\b5\.1\.(1|2)\b")}, "`said` contains the word `5.1.1` or `5.1.2`"),
        ({"said": Pattern(r"(?<![\w.])5\.1\.(?:1|2)\b(?!\.[0-9])")}, "`said` contains the code `5.1.1` or `5.1.2`"),
        ({"said": Pattern("full$")}, "`said` ends with `full`"),
        ({"said": Pattern("over quota")}, "`said` contains `over quota`"),
        ({"code": Pattern("^5[.]")}, "`code` matches `^5[.]`"),
        ({"code": Pattern("5.1")}, "`code` matches `5.1`"),
        ({"code": Pattern(r"\b5$")}, r"`code` matches `\b5$`"),
    ],
)
def test_the_conditions_of_a_rule_are_put_into_words(match: dict[str, object], words: str) -> None:
    assert when(Rule("made_up.rule", Kind.OTHER, match)) == words  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "shown", "happens"),
    [
        (Kind.COMPLAINT, "**complaint**", "removed"),
        (Kind.HARD_BOUNCE, "**hard_bounce**", "removed"),
        (Kind.SOFT_BOUNCE, "soft_bounce", "kept"),
        (Kind.OTHER, "other", "counted only"),
    ],
)
def test_a_kind_is_told_with_what_it_does(kind: Kind, shown: str, happens: str) -> None:
    assert row(Rule("made_up.rule", kind)) == ["`made_up.rule`", "everything else", shown, happens]


@pytest.mark.parametrize(
    ("is_on", "kinds"),
    [
        (True, "**hard_bounce**; rejected with `MADE_UP_IS_HARD=false`"),
        (False, "rejected; **hard_bounce** with `MADE_UP_IS_HARD=true`"),
    ],
)
def test_a_switch_is_told_from_where_it_stands_by_default(is_on: bool, kinds: str) -> None:
    rule = Rule("made_up.rule", Kind.HARD_BOUNCE, policy="made_up_is_hard", otherwise=Kind.REJECTED)

    assert row(rule, made_up_is_hard=is_on)[2] == kinds


def test_what_would_break_a_table_is_escaped() -> None:
    rule = Rule("made_up.rule", Kind.OTHER, {"code": Pattern("a|b")}, note="contact.* | <all>")

    assert row(rule) == [
        "`made_up.rule`",
        "`code` matches `a¦b`",
        "other",
        r"counted only; contact.\* ¦ \<all>",
    ]
