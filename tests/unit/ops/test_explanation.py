"""What a body means, item by item, before anybody believes it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.events import Kind
from ops.explanation import Effect, explained, policy, unreadable
from ops.explanation_text import document, lines
from providers.base import CountedItem, Normalised, ParkedItem
from providers.outcome import WHOLE_BODY
from providers.rules import Rule
from tests.unit.ops.letter_samples import NOON, event

ODD = Rule("made_up.rule", Kind.COMPLAINT, note="an odd line")
SWITCHED = Rule("made_up.rule", Kind.HARD_BOUNCE, policy="made_up_is_hard", otherwise=Kind.REJECTED, note="a switch")


def text(said: Normalised, *rules: Rule) -> str:
    return "\n".join(lines("made-up", "a password", explained(said, rules), said.confirm_url))


@pytest.mark.parametrize("kind", [Kind.COMPLAINT, Kind.HARD_BOUNCE])
def test_a_removing_event_removes_unless_it_is_stale(kind: Kind) -> None:
    (item,) = explained(Normalised((event(kind=kind),)), [ODD])

    assert item.effect is Effect.REMOVE
    assert item.says.startswith("removes the record of reader1@example.com; stale, and it stays, if")
    assert "newer than 2026-11-01T12:00:00+00:00" in item.says


@pytest.mark.parametrize("kind", [Kind.DELIVERED, Kind.SOFT_BOUNCE, Kind.UNSUBSCRIBED, Kind.REJECTED])
def test_other_queued_kinds_keep_the_record(kind: Kind) -> None:
    (item,) = explained(Normalised((event(kind=kind),)), [ODD])

    assert (item.effect, item.says) == (Effect.KEEP, "passed on; removes nobody")


def test_an_event_whose_token_is_good_once_says_so() -> None:
    (item,) = explained(Normalised((replace(event(), single_use="token"),)), [])

    assert item.says.endswith("no effect if its token has already proved another event")


def test_items_stand_in_the_order_of_the_body() -> None:
    said = Normalised(
        (event(1), event(2)),
        (ParkedItem(1, "odd"),),
        {Kind.OTHER: 1},
        (0, 3),
        counted_items=(CountedItem(2, Kind.OTHER, "made_up.rule"),),
    )

    effects = [(item.index, item.effect) for item in explained(said, [ODD])]

    assert effects == [(0, Effect.REMOVE), (1, Effect.PARK), (2, Effect.COUNT), (3, Effect.REMOVE)]


def test_a_parked_item_that_lacks_its_recipient_tells_the_rule_that_would_have_removed() -> None:
    nobody = replace(event(), recipient="", recipient_verbatim="")
    said = Normalised(parked=(ParkedItem(0, "complaint without a single recipient", nobody),))

    shown = text(said, ODD)

    assert "item 0: complaint\n" in shown
    assert "  rule      made_up.rule (an odd line)" in shown
    assert "  park      complaint without a single recipient" in shown


def test_a_counted_item_of_a_kind_that_is_usually_queued_lacks_its_recipient() -> None:
    counted = CountedItem(0, Kind.DELIVERED, "made_up.rule")

    shown = text(Normalised(counted={Kind.DELIVERED: 1}, counted_items=(counted,)), ODD)

    assert "names no single recipient, and would remove nobody" in shown


def test_what_was_counted_without_telling_items_apart_is_one_line() -> None:
    (item,) = explained(Normalised(counted={Kind.OTHER: 3}), [])

    assert (item.kind, item.n) == (Kind.OTHER, 3)
    assert "made-up: 3 to count" in text(Normalised(counted={Kind.OTHER: 3}))


def test_the_body_that_cannot_be_read_says_why() -> None:
    whole = Normalised(parked=(ParkedItem(WHOLE_BODY, "the body is not JSON"),))
    one = Normalised(parked=(ParkedItem(0, "odd"),))

    assert unreadable(explained(whole, [])) == "the body is not JSON"
    assert unreadable(explained(one, [])) == ""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Kind.HARD_BOUNCE, "MADE_UP_IS_HARD=true; with false it would be rejected"),
        (Kind.REJECTED, "MADE_UP_IS_HARD=false; with true it would be hard_bounce"),
    ],
)
def test_a_rule_with_a_switch_says_how_it_stands_and_what_the_other_way_means(kind: Kind, words: str) -> None:
    (item,) = explained(Normalised((event(kind=kind),)), [SWITCHED])

    assert policy(item) == words


def test_a_rule_that_stands_in_no_table_is_named_all_the_same() -> None:
    counted = CountedItem(0, Kind.OTHER, "made_up.test_button")

    assert "rule      made_up.test_button\n" in text(Normalised(counted={Kind.OTHER: 1}, counted_items=(counted,)))


def test_a_rule_without_a_switch_mentions_none() -> None:
    assert "switch" not in text(Normalised((event(),)), ODD)


def test_the_screen_shows_everything_that_an_event_says() -> None:
    told = replace(event(verbatim="Reader1@Example.com"), campaign_id="cmp_1", detail="550 5.1.1 no such user")
    told = replace(told, received_at=NOON + timedelta(seconds=1))

    assert text(Normalised((told,)), ODD).splitlines() == [
        "made-up: 1 to remove",
        "proof skipped: not looked at here; a real post needs a password",
        "item 0: complaint of reader1@example.com",
        "  rule      made_up.rule (an odd line)",
        "  event id  made-up:1",
        "  time      2026-11-01T12:00:00+00:00",
        "  written   Reader1@Example.com",
        "  campaign  cmp_1",
        "  detail    550 5.1.1 no such user",
        "  remove    removes the record of reader1@example.com; stale, and it stays, if its consent or a restore is "
        "newer than 2026-11-01T12:00:00+00:00",
    ]


def test_a_time_that_is_that_of_receipt_is_marked() -> None:
    assert "2026-11-01T12:00:00+00:00 (now: the item tells none)" in text(Normalised((event(),)))


def test_a_body_with_nothing_in_it_is_called_that() -> None:
    assert "nothing to queue: a ping, a handshake or an empty batch" in text(Normalised())


def test_a_subscription_to_confirm_is_shown_and_not_called() -> None:
    shown = text(Normalised(confirm_url="https://sns.example.com/confirm"))

    assert "would call https://sns.example.com/confirm, once" in shown


def test_what_could_play_tricks_on_a_terminal_is_escaped() -> None:
    assert "\x1b" not in text(Normalised(parked=(ParkedItem(0, "odd \x1b[31m"),)))


def test_the_document_has_every_item_with_null_for_what_is_unknown() -> None:
    said = Normalised((event(),), (ParkedItem(1, "odd"),))

    found = document("made-up", explained(said, [ODD]), "")

    assert (found["provider"], found["proof"], found["confirm_url"]) == ("made-up", "skipped", None)
    assert [(one["index"], one["kind"], one["rule"], one["effect"]) for one in found["items"]] == [
        (0, "complaint", "made_up.rule", "remove"),
        (1, None, None, "park"),
    ]
    assert found["items"][0]["recipient"] == "reader1@example.com"
    assert found["items"][1]["event_id"] is None
