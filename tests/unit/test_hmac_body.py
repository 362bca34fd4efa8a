"""The scheme of an HMAC of the body, beside answers known from elsewhere, and every way in which a post is refused."""

import hashlib
import hmac
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import ProofRefused, Request
from providers.hmac_body import HmacBody, base64_text
from providers.signatures import Refusal
from tests.unit.providers.security_cases import SENT_AT

HEADER = "signature"
OLD, NEW = "a secret that is a text", "0123456789abcdef0123456789abcdef"
BODY = b'{"url":"https:\\/\\/example.org\\/"}\r\n'
# RFC 4231, test case 2: key "Jefe", data "what do ya want for nothing?".
RFC_KEY, RFC_DATA = "Jefe", b"what do ya want for nothing?"
RFC_SHA256 = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
# RFC 2202, HMAC-SHA1, test case 2: the same key and data.
RFC_SHA1_BASE64 = "7/zfauXrL6LSdBbV8YTfnCWafHk="


def signature(secret: str, body: bytes = BODY) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def verified(presented: str | None, *secrets: str, body: bytes = BODY) -> str:
    headers = {} if presented is None else {HEADER: presented}
    return HmacBody(HEADER, secrets or (OLD,)).verify(Request(headers, body, SENT_AT))


def refusal(presented: str | None, *secrets: str, body: bytes = BODY) -> str:
    with pytest.raises(ProofRefused) as refused:
        verified(presented, *secrets, body=body)
    return refused.value.reason


def both_ends(body: bytes) -> Iterable[bytes]:
    return (b"one" + body, b"two" + body)


def nothing(_body: bytes) -> Iterable[bytes]:
    return ()


def test_the_known_answer_for_sha256_in_hexadecimal_is_accepted() -> None:
    assert verified(RFC_SHA256, RFC_KEY, body=RFC_DATA) == "1 of 1"


def test_the_known_answer_for_sha1_in_base64_is_accepted() -> None:
    scheme = HmacBody(HEADER, (RFC_KEY,), "sha1", base64_text)

    assert scheme.verify(Request({HEADER: RFC_SHA1_BASE64}, RFC_DATA, SENT_AT)) == "1 of 1"


@pytest.mark.parametrize(("secrets", "which"), [((NEW, OLD), "2 of 2"), ((OLD, NEW), "1 of 2")])
def test_any_of_several_secrets_may_match_and_the_answer_says_which(secrets: tuple[str, ...], which: str) -> None:
    assert verified(signature(OLD), *secrets) == which


def test_a_secret_of_hexadecimal_digits_is_used_as_the_text_it_is() -> None:
    decoded = hmac.new(bytes.fromhex(NEW), BODY, hashlib.sha256).hexdigest()

    assert verified(signature(NEW), NEW) == "1 of 1"
    assert refusal(decoded, NEW) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("at", range(len(BODY)))
def test_one_changed_byte_is_refused(at: int) -> None:
    tampered = BODY[:at] + bytes([BODY[at] ^ 1]) + BODY[at + 1 :]

    assert refusal(signature(OLD), body=tampered) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("body", [BODY.replace(b"\\/", b"/"), BODY.rstrip(), BODY + b"\n", b"", b"\xef\xbb\xbf" + BODY])
def test_a_body_written_anew_is_refused(body: bytes) -> None:
    assert refusal(signature(OLD), body=body) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("presented", [None, ""])
def test_a_missing_or_empty_header_is_refused(presented: str | None) -> None:
    assert refusal(presented) == Refusal.MISSING_HEADERS


@pytest.mark.parametrize("joint", [",", ", "])
def test_a_duplicated_header_is_refused_even_if_both_are_genuine(joint: str) -> None:
    assert refusal(joint.join([signature(OLD)] * 2)) == Refusal.DUPLICATE_HEADERS


@pytest.mark.parametrize(
    "presented",
    [
        signature(NEW),
        signature(OLD).upper(),
        signature(OLD)[:-1],
        signature(OLD) + "0",
        f" {signature(OLD)}",
        f"{signature(OLD)}\n",
        f"sha256={signature(OLD)}",
        base64_text(bytes.fromhex(signature(OLD))).decode(),
        "\u00ff",
        "\ud800",
        "\x00",
        "0" * 64,
        "0" * 100_000,
    ],
)
def test_a_wrong_or_malformed_signature_is_refused_and_never_an_error(presented: str) -> None:
    assert refusal(presented) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("secrets", [(), ("",), (OLD, ""), ("", OLD)])
def test_no_missing_or_empty_secret_ever_makes_a_key(secrets: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="secret"):
        HmacBody(HEADER, secrets)


def test_a_signature_with_the_empty_key_is_refused() -> None:
    assert refusal(signature("")) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("content", [b"one" + BODY, b"two" + BODY])
def test_any_of_several_contents_may_be_the_one_that_was_signed(content: bytes) -> None:
    scheme = HmacBody(HEADER, (OLD,), contents=both_ends)

    assert scheme.verify(Request({HEADER: signature(OLD, content)}, BODY, SENT_AT)) == "1 of 1"


def test_the_body_alone_is_refused_where_something_else_is_signed() -> None:
    scheme = HmacBody(HEADER, (OLD,), contents=both_ends)

    with pytest.raises(ProofRefused) as refused:
        scheme.verify(Request({HEADER: signature(OLD)}, BODY, SENT_AT))
    assert refused.value.reason == Refusal.BAD_SIGNATURE


def test_a_body_from_which_nothing_to_sign_can_be_made_is_refused() -> None:
    scheme = HmacBody(HEADER, (OLD,), contents=nothing)

    with pytest.raises(ProofRefused) as refused:
        scheme.verify(Request({HEADER: signature(OLD)}, BODY, SENT_AT))
    assert refused.value.reason == Refusal.BAD_SIGNATURE


def test_a_body_from_which_nothing_to_sign_can_be_made_is_not_signed_either() -> None:
    with pytest.raises(ValueError, match="nothing to sign"):
        HmacBody(HEADER, (OLD,), contents=nothing).sign(BODY, "evt_1", SENT_AT)


@pytest.mark.parametrize("body", [BODY, b"", b"\xff\x00"])
def test_what_we_sign_with_the_first_secret_we_accept(body: bytes) -> None:
    scheme = HmacBody(HEADER, (NEW, OLD), contents=both_ends)
    post = scheme.sign(body, "evt_1", SENT_AT)

    assert scheme.verify(Request(post.headers, post.body, SENT_AT)) == "1 of 2"


def test_what_we_sign_has_the_content_type_of_the_provider() -> None:
    post = HmacBody(HEADER, (OLD,), content_type="application/x-www-form-urlencoded").sign(BODY, "evt_1", SENT_AT)

    assert post.headers == {HEADER: signature(OLD), "content-type": "application/x-www-form-urlencoded"}


@given(st.one_of(st.text(alphabet=st.characters(exclude_categories=())), st.text("0123456789abcdef")), st.binary())
def test_hostile_headers_cost_a_refusal_and_nothing_else(presented: str, body: bytes) -> None:
    assert refusal(presented, body=body) in set(Refusal)
