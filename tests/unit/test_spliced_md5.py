"""Unisender Go's scheme: a known answer, bytes that are never written anew, and every body whose proof is in doubt."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import ProofRefused, Request
from providers.signatures import Refusal
from providers.spliced_md5 import SplicedMd5
from tests.unit.providers.security_cases import SENT_AT

KEY, NEXT = "made-up-api-key", "another-made-up-key"
PLACE = b"0" * 32


def verified(body: bytes, *keys: str) -> str:
    return SplicedMd5(keys or (KEY,)).verify(Request({}, body, SENT_AT))


def refusal(body: bytes, *keys: str) -> str:
    with pytest.raises(ProofRefused) as refused:
        verified(body, *keys)
    return refused.value.reason


def genuine(template: bytes, key: str = KEY) -> bytes:
    """`template` with the digest that the provider would put in the place of @, written without the code under test."""
    digest = hashlib.md5(template.replace(b"@", key.encode()), usedforsecurity=False).hexdigest()
    return template.replace(b"@", digest.encode())


def test_the_known_answer_of_anymail_is_accepted() -> None:
    # From the tests of django-anymail, whose key there is the text api_key.
    assert verified(b'{"auth":"8c64386327f53722434f44021a7a0d40","key":"value"}', "api_key") == "1 of 1"


@pytest.mark.parametrize(
    "template",
    [
        b'{"auth":"@"}',
        b'{ "auth" :\t"@" , "x": 1 }',
        b'{"x":{"y":[]},"auth":"@"}\r\n',
        b'{\n  "auth": "@",\n  "url": "https:\\/\\/example.org\\/"\n}',
        '{"auth":"@","name":"Метаданные \\u041c"}'.encode(),
        b'{"auth":"@","events":[{"metadata":{"auth":"of somebody else"}}]}',
        b'{"events":[{"metadata":{"auth":"ffffffffffffffffffffffffffffffff"}}],"auth":"@"}',
        b'{"auth":"@","text":"\\"auth\\":\\"ffffffffffffffffffffffffffffffff\\""}',
    ],
)
def test_the_bytes_count_as_they_came_however_the_json_is_written(template: bytes) -> None:
    assert verified(genuine(template)) == "1 of 1"
    assert refusal(genuine(template).replace(b":", b": ", 1)) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(("keys", "which"), [((NEXT, KEY), "2 of 2"), ((KEY, NEXT), "1 of 2")])
def test_any_of_several_keys_may_match_and_the_answer_says_which(keys: tuple[str, ...], which: str) -> None:
    assert verified(genuine(b'{"auth":"@"}'), *keys) == which


def test_another_key_is_refused() -> None:
    assert refusal(genuine(b'{"auth":"@"}', NEXT)) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"null", b'"auth"', b'{"events":[{"auth":"%b"}]}' % PLACE, b'{"Auth":"%b"}' % PLACE]
)
def test_a_body_without_auth_at_its_top_has_no_proof(body: bytes) -> None:
    assert refusal(body) == Refusal.MISSING_HEADERS


@pytest.mark.parametrize(
    "auth", ["", " ", "0" * 31, "0" * 33, "A" * 32, "g" * 32, "٣" * 32, 0, None, True, [], {}, ["0" * 32]]
)
def test_an_auth_that_is_no_digest_is_refused(auth: object) -> None:
    assert refusal(json.dumps({"auth": auth}).encode()) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(
    "template",
    [
        b'{"auth":"@","auth":"%b"}' % PLACE,
        b'{"auth":"%b","auth":"@"}' % PLACE,
        b'{"auth":null,"auth":"@"}',
        b'{"auth":"%b","\\u0061uth":"@"}' % PLACE,
    ],
)
def test_two_auths_at_the_top_are_refused_though_one_is_right(template: bytes) -> None:
    assert refusal(genuine(template)) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(
    "template",
    [
        b'{"auth":"@","metadata":{"auth":"@"}}',
        b'{"auth":"@","metadata":"@"}',
        b'{"auth":"@","@":1}',
        b'{"auth":"@","text":"x@x"}',
    ],
)
def test_a_digest_that_stands_there_twice_is_refused_because_either_could_be_replaced(template: bytes) -> None:
    assert refusal(genuine(template)) == Refusal.BAD_SIGNATURE


def test_an_auth_whose_name_is_written_with_escapes_is_refused() -> None:
    assert refusal(genuine(b'{"\\u0061uth":"@"}')) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"\x1f\x8b\x08\x00compressed",
        b'{"auth":"%b"' % PLACE,
        b'{"auth":"%b"} {}' % PLACE,
        '{"auth":"0"}'.encode("utf-16"),
        pytest.param(b'{"auth":' + b"[" * 200_000, id="deep nesting"),
        pytest.param(b'{"auth":' + b"9" * 5000 + b"}", id="an endless number"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_and_never_an_error(body: bytes) -> None:
    assert refusal(body) == Refusal.BAD_SIGNATURE


def test_the_api_key_in_place_of_the_digest_is_no_proof() -> None:
    assert refusal(b'{"auth":"%b"}' % KEY.encode()) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("keys", [(), ("",), (KEY, "")])
def test_no_missing_or_empty_key_is_taken(keys: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="key"):
        SplicedMd5(keys)


def test_a_proof_made_with_the_empty_key_is_refused() -> None:
    assert refusal(genuine(b'{"auth":"@"}', "")) == Refusal.BAD_SIGNATURE


def test_we_sign_as_unisender_go_does() -> None:
    template = b'{ "auth": "@", "events_by_user": [] }'
    post = SplicedMd5((KEY, NEXT)).sign(template.replace(b"@", PLACE), "evt_1", SENT_AT)

    assert post.body == genuine(template)


@pytest.mark.parametrize("body", [b"{}", b"\xff", b'{"auth":""}', b'{"auth":"%b","x":"%b"}' % (PLACE, PLACE)])
def test_a_body_without_one_place_for_the_proof_is_not_signed(body: bytes) -> None:
    with pytest.raises(ValueError, match="one auth of 32 hex digits"):
        SplicedMd5((KEY,)).sign(body, "evt_1", SENT_AT)


@given(st.one_of(st.binary(), st.binary().map(lambda tail: b'{"auth":"' + PLACE + b'"' + tail)))
def test_hostile_bodies_cost_a_refusal_and_nothing_else(body: bytes) -> None:
    assert refusal(body) in set(Refusal)
