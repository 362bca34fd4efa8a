"""The Standard Webhooks scheme beside its published answers, and every way in which a post is refused."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.base import ProofRefused, Request
from providers.signatures import Keyring, Refusal, decode_base64
from providers.standard_webhooks import SVIX, WEBHOOK, StandardWebhooks, id_header, message_id

OLD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NEW = "whsec_plJ3nmyCDGBKInavdOK15jsl"
BODY = b'{"test": 2432232314}'
SENT_AT = datetime.fromtimestamp(1614265330, UTC)
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
GENUINE = {
    "svix-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "svix-timestamp": "1614265330",
    "svix-signature": SIGNATURE,
}


def verified(
    headers: Mapping[str, str], *, secrets: tuple[str, ...] = (OLD,), body: bytes = BODY, age_s: float = 0
) -> str:
    request = Request(headers, body, SENT_AT + timedelta(seconds=age_s))
    return StandardWebhooks(secrets, tolerance_s=300).verify(request)


def refusal(
    headers: Mapping[str, str], *, secrets: tuple[str, ...] = (OLD,), body: bytes = BODY, age_s: float = 0
) -> str:
    with pytest.raises(ProofRefused) as refused:
        verified(headers, secrets=secrets, body=body, age_s=age_s)
    return refused.value.reason


def renamed(prefix: str) -> dict[str, str]:
    return {name.replace("svix", prefix): value for name, value in GENUINE.items()}


@pytest.mark.parametrize("prefix", [SVIX, WEBHOOK])
def test_the_known_answer_of_svix_is_accepted_under_either_name(prefix: str) -> None:
    assert verified(renamed(prefix)) == "1 of 1"


def test_the_second_known_answer_is_accepted() -> None:
    headers = {
        "webhook-id": "msg_loFOjxBNrRLzqYUf",
        "webhook-timestamp": "1731705121",
        "webhook-signature": "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=",
    }
    body = b'{"event_type":"ping","data":{"success":true}}'
    request = Request(headers, body, datetime.fromtimestamp(1731705121, UTC))

    assert StandardWebhooks((NEW,), 300).verify(request) == "1 of 1"


@pytest.mark.parametrize(("secrets", "which"), [((NEW, OLD), "2 of 2"), ((OLD, NEW), "1 of 2")])
def test_any_of_several_secrets_may_match_and_the_answer_says_which(secrets: tuple[str, ...], which: str) -> None:
    assert verified(GENUINE, secrets=secrets) == which


@pytest.mark.parametrize(
    "tokens",
    [
        f"{SIGNATURE} v1,AAAA",
        f"v1,AAAA {SIGNATURE}",
        f"v1a,AAAA {SIGNATURE}",
        f"v2,AAAA {SIGNATURE}",
        f"v1 v1, , garbage v1,%%% {SIGNATURE}",
        f"  {SIGNATURE}  ",
        f"v1,\u00fc\u00e9 {SIGNATURE}",
    ],
)
def test_one_genuine_signature_is_enough_whatever_stands_beside_it(tokens: str) -> None:
    assert verified({**GENUINE, "svix-signature": tokens}) == "1 of 1"


@pytest.mark.parametrize(
    "signature",
    [
        SIGNATURE.replace("v1,", "v1a,"),
        SIGNATURE.replace("v1,", "x,"),
        SIGNATURE.replace("v1,", "V1,"),
        SIGNATURE.removeprefix("v1,"),
        SIGNATURE.removesuffix("="),
        SIGNATURE + "=",
        SIGNATURE[:-2] + "F=",
        SIGNATURE.replace("+", "-").replace("/", "_"),
        SIGNATURE.lower(),
        "v1,",
        "v1",
        ",",
        "v1,not base64!",
        "v1,\u00ff\u00fe",
        "v1,\u20ac\ud800",
        "v1," + "A" * 8000,
    ],
)
def test_a_wrong_or_malformed_signature_is_refused_and_never_an_error(signature: str) -> None:
    assert refusal({**GENUINE, "svix-signature": signature}) == Refusal.BAD_SIGNATURE


def test_the_wrong_secret_is_refused() -> None:
    assert refusal(GENUINE, secrets=(NEW,)) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("at", range(len(BODY)))
def test_one_changed_byte_is_refused(at: int) -> None:
    tampered = BODY[:at] + bytes([BODY[at] ^ 1]) + BODY[at + 1 :]

    assert refusal(GENUINE, body=tampered) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("body", [BODY + b"\n", BODY.replace(b" ", b""), b"", b"\xef\xbb\xbf" + BODY])
def test_a_body_written_anew_is_refused(body: bytes) -> None:
    assert refusal(GENUINE, body=body) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("name", GENUINE)
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_or_empty_header_is_refused(name: str, value: str | None) -> None:
    headers = {key: text for key, text in {**GENUINE, name: value}.items() if text is not None}

    assert refusal(headers) == Refusal.MISSING_HEADERS


def test_a_set_is_never_completed_from_the_other() -> None:
    mixed = {"svix-id": GENUINE["svix-id"], "webhook-timestamp": "1614265330", "webhook-signature": SIGNATURE}

    assert refusal(mixed) == Refusal.MISSING_HEADERS


def test_of_two_complete_sets_the_svix_one_counts() -> None:
    forged = {**renamed(WEBHOOK), "webhook-id": "msg_other"}

    assert verified({**forged, **GENUINE}) == "1 of 1"
    assert message_id({**forged, **GENUINE}) == GENUINE["svix-id"]
    assert refusal({**renamed(WEBHOOK), **GENUINE, "svix-id": "msg_other"}) == Refusal.BAD_SIGNATURE


def test_an_incomplete_svix_set_leaves_the_id_to_the_complete_one() -> None:
    headers = {"svix-id": "msg_other", **renamed(WEBHOOK)}

    assert verified(headers) == "1 of 1"
    assert id_header(headers) == {"webhook-id": GENUINE["svix-id"]}


@pytest.mark.parametrize(
    "timestamp", ["soon", "1614265330.0", "-1", "+1614265330", " 1614265330", "1e9", "٣", "9" * 12, "²"]
)
def test_a_timestamp_that_is_not_plain_digits_is_refused(timestamp: str) -> None:
    assert refusal({**GENUINE, "svix-timestamp": timestamp}) == Refusal.MALFORMED_TIMESTAMP


@pytest.mark.parametrize("identifier", ["msg 1", "msg.1", "m\u00fcsg", "msg\n", "\ud800", "msg\x00"])
def test_an_id_that_makes_the_signed_bytes_ambiguous_is_refused(identifier: str) -> None:
    assert refusal({**GENUINE, "svix-id": identifier}) == Refusal.MALFORMED_ID


@pytest.mark.parametrize("name", GENUINE)
@pytest.mark.parametrize("joint", [",", ", "])
def test_a_duplicated_header_is_refused(name: str, joint: str) -> None:
    assert refusal({**GENUINE, name: joint.join([GENUINE[name]] * 2)}) == Refusal.DUPLICATE_HEADERS


def test_a_duplicated_list_of_signatures_does_not_pass_by_its_outer_tokens() -> None:
    tokens = f"{SIGNATURE} v1,AAAA"

    assert refusal({**GENUINE, "svix-signature": f"{tokens},{tokens}"}) == Refusal.DUPLICATE_HEADERS


@pytest.mark.parametrize("age_s", [-300, -1, 0, 299.9, 300])
def test_a_post_inside_the_window_is_accepted(age_s: float) -> None:
    assert verified(GENUINE, age_s=age_s) == "1 of 1"


def test_a_genuine_post_that_comes_too_late_is_stale() -> None:
    assert refusal(GENUINE, age_s=301) == Refusal.STALE


def test_a_genuine_post_from_the_future_is_refused() -> None:
    assert refusal(GENUINE, age_s=-301) == Refusal.FROM_THE_FUTURE


def test_a_forged_post_is_not_counted_as_stale() -> None:
    assert refusal(GENUINE, body=b"{}", age_s=3600) == Refusal.BAD_SIGNATURE


@pytest.mark.parametrize("prefix", [SVIX, WEBHOOK])
def test_what_we_sign_we_accept(prefix: str) -> None:
    scheme = StandardWebhooks((NEW, OLD), 300)

    assert (
        scheme.verify(Request(scheme.sign(b"\xff\x00", "evt_1", SENT_AT, prefix).headers, b"\xff\x00", SENT_AT))
        == "1 of 2"
    )


def test_we_sign_as_svix_does() -> None:
    assert StandardWebhooks((OLD,), 300).sign(BODY, GENUINE["svix-id"], SENT_AT, SVIX).headers == GENUINE | {
        "content-type": "application/json"
    }


def test_we_sign_no_id_that_we_would_refuse() -> None:
    with pytest.raises(ValueError, match="message id"):
        StandardWebhooks((OLD,), 300).sign(BODY, "a.b", SENT_AT, SVIX)


@pytest.mark.parametrize("secrets", [(), ("",), ("whsec_",), (OLD, ""), ("whsec_not base64",), ("whsec_\u00fc",)])
def test_no_empty_or_malformed_secret_ever_makes_a_key(secrets: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="secret"):
        Keyring(secrets)


@pytest.mark.parametrize("text", ["AAA", "AA==x", "A A=", "-_8=", "AAAA\n", "\u00fc", "===="])
def test_base64_is_read_strictly(text: str) -> None:
    assert decode_base64(text) is None


header_text = st.one_of(st.text(), st.text(alphabet="v1,= .+/A0"), st.sampled_from([*GENUINE.values()]))


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*GENUINE, *renamed(WEBHOOK)], header_text)), st.binary())
def test_hostile_headers_cost_a_refusal_and_nothing_else(headers: dict[str, str], body: bytes) -> None:
    assert refusal(headers, body=body) in set(Refusal)
