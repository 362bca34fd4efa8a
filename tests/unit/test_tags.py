"""The tag of a recipient id: fits, names one id only, and leads back to it where it may."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ledger.tags import LONGEST_ID, fits, id_of, tag_of

printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=LONGEST_ID)
alike = st.from_regex(r"(mw64-|mwsha-)?[A-Za-z0-9_@.-]{1,40}", fullmatch=True)
ids = printable | alike


@pytest.mark.parametrize("recipient_id", ["17", "r-17_b", "0f8fad5b-d9cb-469f-a165-70867728950e", "a" * 200])
def test_an_id_that_fits_is_its_own_tag(recipient_id: str) -> None:
    assert tag_of(recipient_id) == recipient_id


@pytest.mark.parametrize("recipient_id", ["user:17", "a.b", "José", "mw64-x", "mwsha-x"])
def test_an_id_that_does_not_fit_comes_back_from_its_tag(recipient_id: str) -> None:
    assert tag_of(recipient_id) != recipient_id
    assert id_of(tag_of(recipient_id)) == recipient_id


@pytest.mark.parametrize("recipient_id", ["jane@example.com", "ß" * 100])
def test_an_address_or_a_long_id_is_hashed_and_does_not_come_back(recipient_id: str) -> None:
    assert re.fullmatch(r"mwsha-[0-9a-f]{64}", tag_of(recipient_id))
    assert id_of(tag_of(recipient_id)) is None


@pytest.mark.parametrize("tag", ["", "not ours", "mw64-", "mw64-*", "mw64-_w", "mw64-YQ", "mwsha-00", "x" * 201])
def test_what_is_no_tag_of_ours_names_nobody(tag: str) -> None:
    assert id_of(tag) is None


@given(ids)
def test_every_tag_fits_and_names_its_id_or_nobody(recipient_id: str) -> None:
    assert fits(tag_of(recipient_id))
    assert id_of(tag_of(recipient_id)) in (recipient_id, None)


@given(ids, ids)
def test_two_ids_never_share_a_tag(one: str, other: str) -> None:
    assert (tag_of(one) == tag_of(other)) is (one == other)
