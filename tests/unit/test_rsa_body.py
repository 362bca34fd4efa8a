"""The scheme of an RSA signature of the body: which header counts, which key matched, and every way to be refused."""

import base64
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st

from providers.base import ProofRefused, Request
from providers.public_keys import signed
from providers.rsa_body import RsaBody
from providers.signatures import Refusal
from tests.unit.providers.security_cases import SENT_AT

STRONG, WEAK = "x-strong", "x-weak"
HEADERS = {STRONG: hashes.SHA256(), WEAK: hashes.SHA1()}  # noqa: S303 - what Postal signs with, too
BODY = b'{"event":"MessageSent"}'
OURS, THEIRS = (rsa.generate_private_key(65_537, 2048) for _ in range(2))


def key_of(private: rsa.RSAPrivateKey) -> Callable[[], rsa.RSAPrivateKey]:
    return lambda: private


def signature(algorithm: hashes.HashAlgorithm, private: rsa.RSAPrivateKey = OURS, body: bytes = BODY) -> str:
    return base64.b64encode(signed(private, body, algorithm)).decode()


GENUINE = {STRONG: signature(HEADERS[STRONG]), WEAK: signature(HEADERS[WEAK])}


def verified(headers: dict[str, str], *privates: rsa.RSAPrivateKey, body: bytes = BODY) -> str:
    keys = [private.public_key() for private in privates or (OURS,)]
    return RsaBody(keys, key_of(OURS), HEADERS).verify(Request(headers, body, SENT_AT))


def refusal(headers: dict[str, str], *privates: rsa.RSAPrivateKey, body: bytes = BODY) -> str:
    with pytest.raises(ProofRefused) as refused:
        verified(headers, *privates, body=body)
    return refused.value.reason


def test_both_headers_together_are_accepted() -> None:
    assert verified(GENUINE) == "1 of 1"


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_alone_is_accepted(header: str) -> None:
    assert verified({header: GENUINE[header]}) == "1 of 1"


@pytest.mark.parametrize("strong", [signature(HEADERS[STRONG], THEIRS), GENUINE[WEAK], "AAAA", "%%%"])
def test_a_genuine_weak_header_does_not_make_up_for_a_wrong_strong_one(strong: str) -> None:
    assert refusal(GENUINE | {STRONG: strong}) == Refusal.BAD_SIGNATURE


def test_an_empty_strong_header_is_not_an_absent_one() -> None:
    assert refusal(GENUINE | {STRONG: ""}) == Refusal.MISSING_HEADERS


def test_a_wrong_weak_header_does_no_harm_beside_a_genuine_strong_one() -> None:
    assert verified(GENUINE | {WEAK: "AAAA"}) == "1 of 1"


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_has_the_digest_of_its_name_and_no_other(header: str) -> None:
    other = WEAK if header == STRONG else STRONG

    assert refusal({header: GENUINE[other]}) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(("privates", "which"), [((THEIRS, OURS), "2 of 2"), ((OURS, THEIRS), "1 of 2")])
def test_any_of_several_keys_may_match(privates: tuple[rsa.RSAPrivateKey, ...], which: str) -> None:
    assert verified(GENUINE, *privates) == which


@pytest.mark.parametrize("body", [BODY + b"\n", BODY.replace(b":", b": "), b""])
@pytest.mark.parametrize("header", HEADERS)
def test_another_body_is_refused(header: str, body: bytes) -> None:
    assert refusal({header: GENUINE[header]}, body=body) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("headers", [{}, {STRONG: ""}, {WEAK: ""}, {"x-postal-signature-kid": "1"}])
def test_a_post_without_a_signature_is_refused(headers: dict[str, str]) -> None:
    assert refusal(headers) == Refusal.MISSING_HEADERS


def test_two_signatures_in_one_header_are_refused() -> None:
    assert refusal({STRONG: f"{GENUINE[STRONG]},{GENUINE[STRONG]}"}) == Refusal.DUPLICATE_HEADERS


@pytest.mark.parametrize(
    "text", ["=", "A", GENUINE[STRONG].rstrip("="), GENUINE[STRONG] + "\n", "\u00fc", "\ud800", "AAAA" * 30_000]
)
def test_a_malformed_signature_is_refused_and_never_an_error(text: str) -> None:
    assert refusal({STRONG: text}) == Refusal.BAD_SIGNATURE


def test_we_sign_with_the_strongest_digest() -> None:
    post = RsaBody([OURS.public_key()], key_of(OURS), HEADERS).sign(BODY, "evt_1", SENT_AT)

    assert post.headers == {STRONG: GENUINE[STRONG], "content-type": "application/json"}


def test_we_do_not_sign_what_we_would_refuse() -> None:
    with pytest.raises(ValueError, match="belongs to none"):
        RsaBody([OURS.public_key()], key_of(THEIRS), HEADERS).sign(BODY, "evt_1", SENT_AT)


def test_without_a_key_there_is_no_scheme() -> None:
    with pytest.raises(ValueError, match="at least one key"):
        RsaBody([], key_of(OURS), HEADERS)


def test_a_key_of_another_kind_makes_no_scheme() -> None:
    with pytest.raises(ValueError, match="not RSA"):
        RsaBody([ec.generate_private_key(ec.SECP256R1()).public_key()], key_of(OURS), HEADERS)


@given(st.dictionaries(st.sampled_from(sorted(HEADERS)), st.text(alphabet=st.characters(exclude_categories=()))))
def test_hostile_headers_cost_a_refusal_and_nothing_else(headers: dict[str, str]) -> None:
    assert refusal(headers) in set(Refusal)
