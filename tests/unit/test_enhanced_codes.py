"""Enhanced status codes in an answer's words: a code about the address is found, parts of IP addresses are not."""

import pytest

from providers.conditions import test_of as ready
from providers.enhanced_codes import BAD_ADDRESS


@pytest.mark.parametrize(
    "answer",
    [
        "550 5.1.1 no such user",
        "550-5.1.1 The account does not exist.\n550 5.1.1 really",
        "bounced (550 5.1.1)",
        "smtp;550 #5.1.2 no such domain",
        "556 5.1.10: takes no mail",
        "moved away, 5.1.6",
        "5.1.3",
        "550 5.1.1. No such user",
    ],
)
def test_a_code_about_the_address_is_found(answer: str) -> None:
    assert ready(BAD_ADDRESS)(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "554 5.7.1 refused",
        "550 5.1.0 unspecified",
        "550 5.1.8 bad sender",
        "550 5.1.11",
        "450 4.1.1 try again",
        "550 5.7.1 client host [5.1.1.23] is blocked",
        "550 5.7.1 client host [10.5.1.1] is blocked",
        "550 5.7.1 client host [192.0.2.5] 15.1.1",
        "x5.1.1",
        "5.1.1st",
        "",
        None,
        {},
    ],
)
def test_anything_else_is_not(answer: object) -> None:
    assert not ready(BAD_ADDRESS)(answer)
