"""The unsubscribe token: always the same, fit for a URL, and true only if we made it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sender.unsubscribe import make, read

SECRET, OLDER = "a-made-up-secret", "an-older-secret"
TOKEN = make(SECRET, "c1", "r-17")


def test_a_token_gives_back_campaign_and_recipient() -> None:
    assert read([SECRET], TOKEN) == ("c1", "r-17")


def test_a_token_of_any_current_secret_is_true() -> None:
    assert read([SECRET, OLDER], make(OLDER, "c1", "r-17")) == ("c1", "r-17")


def test_a_token_of_a_retired_secret_is_not() -> None:
    assert read([SECRET], make(OLDER, "c1", "r-17")) is None


def test_a_token_never_changes() -> None:
    assert TOKEN == make(SECRET, "c1", "r-17") == "1Hap4bZ4K3oHKbnF_iVuBP2MxAHItMTc"


@pytest.mark.parametrize("position", range(len(TOKEN)))
def test_a_token_with_one_character_changed_is_refused(position: int) -> None:
    other = "B" if TOKEN[position] == "A" else "A"

    assert read([SECRET], TOKEN[:position] + other + TOKEN[position + 1 :]) is None


@pytest.mark.parametrize("token", ["", "1", "1AAAA", "1é", "2" + TOKEN[1:], TOKEN[:-1], TOKEN + "A", "1" + "A" * 1001])
def test_what_is_no_token_is_refused(token: str) -> None:
    assert read([SECRET], token) is None


def test_no_secret_makes_nothing_and_accepts_nothing() -> None:
    with pytest.raises(ValueError, match="needs a secret"):
        make("", "c1", "r-17")
    assert read([], TOKEN) is None
    assert read([""], TOKEN) is None


def test_a_campaign_id_cannot_reach_into_the_recipient_id() -> None:
    with pytest.raises(ValueError, match="zero byte"):
        make(SECRET, "c1\0r", "17")


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
def test_every_token_is_fit_for_a_url_and_reads_back(campaign_id: str, recipient_id: str) -> None:
    if "\0" not in campaign_id:
        token = make(SECRET, campaign_id, recipient_id)

        assert re.fullmatch(r"1[A-Za-z0-9_-]+", token)
        assert read([OLDER, SECRET], token) == (campaign_id, recipient_id)


@given(st.text(max_size=60))
def test_nothing_that_is_read_raises(token: str) -> None:
    assert read([SECRET], token) is None
    assert read([SECRET], "1" + token) is None
