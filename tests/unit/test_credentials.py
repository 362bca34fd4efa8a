"""The proof of providers that sign nothing: what is taken as our password, and that nothing else is."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import ProofRefused, Request
from providers.credentials import Credentials
from providers.signatures import Refusal

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
PASSWORD = "postmark:a-made-up-password"
NEXT_PASSWORD = "brevo:the-next-made-up-password"
TOKEN = "a-made-up-token-of-32-characters"


def basic(user_and_password: str, scheme: str = "Basic") -> dict[str, str]:
    return {"authorization": f"{scheme} {base64.b64encode(user_and_password.encode()).decode()}"}


def verified(headers: Mapping[str, str], *secrets: str) -> str:
    return Credentials(secrets).verify(Request(headers, b"{}", NOW))


def refusal(headers: Mapping[str, str], *secrets: str) -> str:
    """Why the post is refused; a refused post is never read, so nothing can come of it."""
    with pytest.raises(ProofRefused) as refused:
        verified(headers, *secrets)
    return refused.value.reason


@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC", "bAsIc"])
def test_the_scheme_of_a_password_may_be_written_in_any_case(scheme: str) -> None:
    assert verified(basic(PASSWORD, scheme), PASSWORD) == "1 of 1"


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_token_may_come_as_bearer(scheme: str) -> None:
    assert verified({"authorization": f"{scheme} {TOKEN}"}, TOKEN) == "1 of 1"


def test_a_token_may_come_in_a_header_of_its_own() -> None:
    assert verified({"x-webhook-token": TOKEN}, TOKEN) == "1 of 1"


@pytest.mark.parametrize("header", [f"Bearer   {TOKEN}", f" Bearer {TOKEN} ", f"Bearer {TOKEN}\t"])
def test_blanks_around_the_parts_do_not_matter(header: str) -> None:
    assert verified({"authorization": header}, TOKEN) == "1 of 1"


@pytest.mark.parametrize("secret", ["postmark:with:several:colons", "postmark::doubled-colon", "a:b==/+?#%41"])
def test_a_password_may_hold_colons_and_signs(secret: str) -> None:
    assert verified(basic(secret), secret) == "1 of 1"


def test_the_user_ends_at_the_first_colon_for_both_sides() -> None:
    assert refusal(basic("postmark:with"), "postmark:with:several:colons") == Refusal.BAD_CREDENTIALS


def test_it_is_said_which_of_several_secrets_was_presented() -> None:
    assert verified(basic(PASSWORD), NEXT_PASSWORD, TOKEN, PASSWORD) == "3 of 3"
    assert verified({"x-webhook-token": TOKEN}, NEXT_PASSWORD, TOKEN, PASSWORD) == "2 of 3"
    assert verified(basic(NEXT_PASSWORD), NEXT_PASSWORD, TOKEN, PASSWORD) == "1 of 3"


@pytest.mark.parametrize("headers", [{}, {"authorization": ""}, {"authorization": " \t "}, {"x-webhook-token": " "}])
def test_a_post_without_credentials_is_told_from_one_with_wrong_ones(headers: dict[str, str]) -> None:
    assert refusal(headers, PASSWORD, TOKEN) == Refusal.MISSING_HEADERS


@pytest.mark.parametrize(
    "user_and_password",
    [
        "",
        ":",  # Basic Og==
        "postmark:",
        ":a-made-up-password",
        "postmark",
        "Postmark:a-made-up-password",
        "postmark:A-made-up-password",
        "postmark:a-made-up-passwor",
        "postmark:a-made-up-password ",
        "postmark:a-made-up-password\n",
        "brevo:a-made-up-password",  # the password of one secret under the user of the other
        "postmark:the-next-made-up-password",
        f"{PASSWORD},{NEXT_PASSWORD}",
    ],
)
def test_anything_but_a_whole_secret_is_refused(user_and_password: str) -> None:
    assert refusal(basic(user_and_password), PASSWORD, NEXT_PASSWORD) == Refusal.BAD_CREDENTIALS


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Token {TOKEN}"},
        {"authorization": f"Bearer {TOKEN.upper()}"},
        {"authorization": f"Bearer {TOKEN}, Bearer {TOKEN}"},
        {"authorization": f"Bearer{TOKEN}"},
        {"authorization": "Bearer"},
        {"authorization": TOKEN.upper()},
        {"x-webhook-token": f"Bearer {TOKEN}"},
        {"x-webhook-token": f"bearer {TOKEN}"},
        {"x-webhook-token": TOKEN.upper()},
        {"x-webhook-token": f"{TOKEN},{TOKEN}"},
    ],
)
def test_a_token_counts_only_in_the_form_of_its_header(headers: dict[str, str]) -> None:
    assert refusal(headers, TOKEN) == Refusal.BAD_CREDENTIALS


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Basic {PASSWORD}"},
        {"authorization": f"Bearer {PASSWORD}"},
        {"x-webhook-token": PASSWORD},
        {"x-webhook-token": f"basic {base64.b64encode(PASSWORD.encode()).decode()}"},
    ],
)
def test_a_password_counts_only_as_basic(headers: dict[str, str]) -> None:
    assert refusal(headers, PASSWORD) == Refusal.BAD_CREDENTIALS


def test_a_right_token_is_enough_beside_credentials_that_a_proxy_added() -> None:
    assert verified(basic("proxy:somebody-elses") | {"x-webhook-token": TOKEN}, TOKEN) == "1 of 1"


@pytest.mark.parametrize("name", ["authorization", "x-webhook-token"])
@pytest.mark.parametrize(
    "value", ["Bearer \u00fcber", "\u00ff\u00fe", "Bearer \ud800", f"Bearer {TOKEN}\u00a0", "\x00"]
)
def test_a_header_that_is_no_ascii_is_refused_and_never_an_error(name: str, value: str) -> None:
    assert refusal({name: value}, TOKEN) == Refusal.BAD_CREDENTIALS


@pytest.mark.parametrize("name", ["authorization", "x-webhook-token"])
@pytest.mark.parametrize("filling", [" ", "a", "Bearer "])
def test_a_huge_header_is_refused_even_where_it_begins_with_the_secret(name: str, filling: str) -> None:
    assert refusal({name: f"Bearer {TOKEN} {filling * 100_000}x"}, TOKEN) == Refusal.BAD_CREDENTIALS


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["authorization", "x-webhook-token"]))
def test_no_other_text_is_taken_for_a_secret(text: str, name: str) -> None:
    assert refusal({name: text}, PASSWORD, TOKEN) in {Refusal.BAD_CREDENTIALS, Refusal.MISSING_HEADERS}


@pytest.mark.parametrize("secrets", [(), ("",), (PASSWORD, ""), (":",), ("postmark:",), (":a-made-up-password",)])
def test_without_a_whole_secret_nothing_is_made(secrets: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="secret"):
        Credentials(secrets)


@pytest.mark.parametrize("secret", [PASSWORD, TOKEN])
def test_what_is_signed_is_verified_and_keeps_its_body(secret: str) -> None:
    post = Credentials((secret, "another:made-up-password"), content_type="text/plain").sign(b"x", "evt_1", NOW)

    assert (verified(post.headers, secret), post.body, post.headers["content-type"]) == ("1 of 1", b"x", "text/plain")
