"""What travels beside a body: our own headers alone, and an id for every message."""

import pytest

from core.messages import ATTEMPT, REPLAYS, Outgoing, message_id_of, own_headers


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        (None, {}),
        ({}, {}),
        ({ATTEMPT: 3, REPLAYS: 1, "last_error": "text"}, {ATTEMPT: 3, REPLAYS: 1, "last_error": "text"}),
        ({ATTEMPT: 2, "x-death": [{"queue": "q"}], "x-delivery-count": 4, "x-first-death-queue": "q"}, {ATTEMPT: 2}),
        ({"x": 1, "ax-death": 2}, {"x": 1, "ax-death": 2}),
    ],
    ids=str,
)
def test_only_our_own_headers_are_published_again(headers: dict[str, object] | None, kept: dict[str, object]) -> None:
    assert own_headers(headers) == kept


def test_the_headers_of_a_delivery_are_left_as_they_are() -> None:
    headers: dict[str, object] = {"x-death": 1, ATTEMPT: 1}

    own_headers(headers)[ATTEMPT] = 2

    assert headers == {"x-death": 1, ATTEMPT: 1}


def test_a_message_keeps_its_own_id() -> None:
    assert message_id_of("resend:msg_1", b"body") == "resend:msg_1"


@pytest.mark.parametrize("absent", [None, ""])
def test_a_message_without_an_id_is_named_by_its_body(absent: str | None) -> None:
    assert message_id_of(absent, b"") == "sha256:e3b0c44298fc1c149afbf4c8"
    assert message_id_of(absent, b"one") != message_id_of(absent, b"two")


def test_a_message_begins_with_its_first_attempt() -> None:
    assert Outgoing("exchange", "key", b"body", "id").headers == {ATTEMPT: 1}
