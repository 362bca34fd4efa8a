"""Mandrill: whose posts are believed, what each event comes to, and how its forms and odd shapes are read."""

import base64
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from config.settings import load
from core.events import Event, Kind
from providers import mandrill as module
from providers.base import PUBLIC_TEST, Normalised, ParkedItem, Post, ProofRefused, Provider, Request
from providers.fetching import https_get
from providers.mandrill import mandrill
from providers.samples.mandrill import form
from providers.signatures import Refusal
from providers.url_form_hmac import HEADER, fields
from tests.unit.providers.payloads import PAYLOADS, RECEIVED_AT, posted
from tests.unit.providers.reading import JANE, only_event
from tests.unit.providers.security_cases import SECRET, SENT_AT, SecurityCases

URL = "https://mail.example.com/webhooks/mandrill"
URL_WITH_PASSWORD = "https://hook:s3cret@events.example.com:8443/webhooks/mandrill/?a=1"
COUNTED = (Kind.OTHER, "mandrill.other")

RECORDED = {
    "send": (Kind.ACCEPTED, "mandrill.send"),
    "deferral": (Kind.DEFERRED, "mandrill.deferral"),
    "delivered": (Kind.DELIVERED, "mandrill.delivered"),
    "hard_bounce": (Kind.HARD_BOUNCE, "mandrill.hard_bounce"),
    "soft_bounce": (Kind.SOFT_BOUNCE, "mandrill.soft_bounce"),
    "spam": (Kind.COMPLAINT, "mandrill.spam"),
    "nulls": (Kind.COMPLAINT, "mandrill.spam"),
    "unsub": (Kind.UNSUBSCRIBED, "mandrill.unsubscribe"),
    "reject": (Kind.REJECTED, "mandrill.reject"),
    "blacklist_add": (Kind.REJECTED, "mandrill.denylist_added"),
    "denylist_add": (Kind.REJECTED, "mandrill.denylist_added"),
    "blacklist_remove": COUNTED,
    "allowlist_add": COUNTED,
    "open": COUNTED,
    "click": COUNTED,
    "inbound": COUNTED,
    "unknown_event": COUNTED,
}
ODD = {"batch", "batch_with_broken_items", "empty_batch", "not_json", "test_button", "without_message"}


class TestSecurity(SecurityCases):
    name = "mandrill"
    signature_header = HEADER
    window_s = None
    future_s = None

    def make(self, *secrets: str) -> Provider:
        return mandrill(secrets, (URL,))

    def changed(self, post: Post) -> Post:
        assert b"jane%40" in post.body
        return replace(post, body=post.body.replace(b"jane%40", b"jana%40"))

    def unreadable(self) -> bytes:
        return b"mandrill_events=%5B%7B%22email%22%3A%22%FF%FE%22%7D%5D"


def recorded(name: str) -> bytes:
    return (PAYLOADS / "mandrill" / f"{name}.form").read_bytes()


def read(body: bytes, *, keep_local_case: bool = False) -> Normalised:
    return mandrill((SECRET,), (URL,), keep_local_case=keep_local_case).normalise(posted(body))


def said_of(event: str = "spam", email: object = JANE, url: object = None, **mail: object) -> Normalised:
    msg = {"email": email, **mail}
    return read(form([{"event": event, "_id": "abc", "ts": 1795390872, "url": url, "msg": msg}]))


def signature(key: str, text: bytes) -> str:
    """What Mandrill's documentation says to compute, written anew."""
    return base64.b64encode(hmac.digest(key.encode(), text, "sha1")).decode()


def verified(body: bytes, signature: str, *urls: str) -> str:
    return mandrill((SECRET,), urls or (URL,)).verify(Request({HEADER: signature}, body, SENT_AT))


def refusal(body: bytes, signature: str, *urls: str) -> str:
    with pytest.raises(ProofRefused) as refused:
        verified(body, signature, *urls)
    return refused.value.reason


# --- proof ------------------------------------------------------------------------------------------------------------


def test_the_signature_covers_the_url_and_the_decoded_field() -> None:
    signed = signature(SECRET, URL.encode() + b'mandrill_events[{"event":"spam+ham","q":"a b"}]')
    encoded = b"mandrill_events=%5B%7B%22event%22%3A%22spam%2Bham%22%2C%22q%22%3A%22a+b%22%7D%5D"

    assert verified(encoded, signed) == "1 of 1"
    assert verified(encoded.replace(b"%2C", b"%2c").replace(b"+", b"%20"), signed) == "1 of 1"


def test_every_field_is_covered_in_the_order_of_the_names() -> None:
    signed = signature(SECRET, URL.encode() + b"a1mandrill_events[]z2")

    assert verified(b"z=2&mandrill_events=%5B%5D&a=1", signed) == "1 of 1"


@pytest.mark.parametrize("registered", [URL, URL_WITH_PASSWORD])
def test_the_url_that_counts_is_the_registered_one_to_the_letter_password_and_port_included(registered: str) -> None:
    body = recorded("spam")
    value = json.dumps(json.loads(only_value(body)), separators=(",", ":"))
    signed = signature(SECRET, f"{registered}mandrill_events{value}".encode())

    assert verified(body, signed, URL, URL_WITH_PASSWORD) == "1 of 1"
    assert refusal(body, signed, registered + "/", registered.replace("https", "http")) == Refusal.BAD_SIGNATURE


def only_value(body: bytes) -> bytes:
    found = fields(body)
    assert found is not None
    return found[b"mandrill_events"]


def test_several_urls_and_keys_go_together_in_every_way() -> None:
    provider = mandrill((SECRET, "another-key"), (URL, URL_WITH_PASSWORD))
    text = URL_WITH_PASSWORD.encode() + b"mandrill_events[]"
    request = Request({HEADER: signature("another-key", text)}, b"mandrill_events=%5B%5D", SENT_AT)

    assert provider.verify(request) == "2 of 2"


def test_a_boundary_moved_between_name_and_value_signs_alike_and_means_nothing() -> None:
    signed = signature(SECRET, URL.encode() + b'mandrill_events[{"event":"spam"}]')
    moved = b'mandrill_event=s[{"event":"spam"}]'

    assert verified(moved, signed) == "1 of 1"
    assert (read(moved).events, [item.index for item in read(moved).parked]) == ((), [-1])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"mandrill_events",
        b"a=1&mandrill_events=[]&a=1",
        b"mandrill_events=[]&a=%5",
        b"&".join(b"f%d=1" % n for n in range(11)),
    ],
)
def test_what_is_no_form_of_a_few_different_fields_is_nobodys(body: bytes) -> None:
    assert refusal(body, signature(SECRET, URL.encode() + b"mandrill_events[]")) == Refusal.BAD_SIGNATURE


def test_the_empty_test_post_of_a_new_webhook_is_accepted_and_means_nothing() -> None:
    body = recorded("empty_batch")

    assert verified(body, signature("test-webhook", URL.encode() + b"mandrill_events[]")) == PUBLIC_TEST
    assert read(body) == Normalised()


@pytest.mark.parametrize("value", ['[{"event":"spam"}]', "", "[ ]", "[[]]", "{}", "null", "[]]"])
def test_the_public_test_key_opens_the_door_to_nothing_but_an_empty_list(value: str) -> None:
    signed = signature("test-webhook", f"{URL}mandrill_events{value}".encode())

    assert refusal(b"mandrill_events=" + value.encode(), signed) == Refusal.BAD_SIGNATURE


def test_the_public_test_key_opens_no_door_to_further_fields() -> None:
    signed = signature("test-webhook", URL.encode() + b"a1mandrill_events[]")

    assert refusal(b"a=1&mandrill_events=%5B%5D", signed) == Refusal.BAD_SIGNATURE


def test_the_empty_test_post_must_be_about_our_url() -> None:
    signed = signature("test-webhook", b"https://example.org/mandrill_events[]")

    assert refusal(recorded("empty_batch"), signed) == Refusal.BAD_SIGNATURE


def test_a_head_request_asks_whether_the_address_exists() -> None:
    assert mandrill((SECRET,), (URL,)).answers.probes == {"HEAD"}


def test_a_body_that_is_no_form_is_not_signed() -> None:
    with pytest.raises(ValueError, match="Mandrill posts forms"):
        mandrill((SECRET,), (URL,)).sign(b'{"event":"spam"}', "evt_1", SENT_AT)


def test_a_post_for_tests_is_a_form() -> None:
    post = mandrill((SECRET,), (URL,)).sign(form([]), "evt_1", SENT_AT)

    assert post.headers["content-type"] == "application/x-www-form-urlencoded"


def test_keys_without_urls_are_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="URLs"):
        mandrill((SECRET,), ())


def test_the_settings_make_mandrill_with_all_keys_and_urls() -> None:
    environ = {"MANDRILL_WEBHOOK_KEYS": f"another-key,{SECRET}", "MANDRILL_WEBHOOK_URLS": f"{URL_WITH_PASSWORD},{URL}"}
    provider = module.make(load(environ), https_get)
    assert provider is not None
    signed = signature(SECRET, URL.encode() + b"mandrill_events[]")

    assert provider.verify(Request({HEADER: signed}, recorded("empty_batch"), SENT_AT)) == "2 of 2"
    assert module.make(load({}), https_get) is None


# --- events -----------------------------------------------------------------------------------------------------------


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert {path.stem for path in (PAYLOADS / "mandrill").iterdir()} == {*RECORDED, *ODD}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[Kind, str]) -> None:
    said = read(recorded(name))
    if expected == COUNTED:
        assert said == Normalised(counted={Kind.OTHER: 1})
    else:
        event = only_event(said)
        assert (event.kind, event.rule, event.recipient) == (*expected, JANE)


def test_an_event_carries_all_that_is_known() -> None:
    event = only_event(read(recorded("hard_bounce")))

    assert replace(event, event_id="") == Event(
        event_id="",
        provider="mandrill",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="mandrill.hard_bounce",
        provider_message_id=f"{4:032x}",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="bounced; bad_mailbox; 10; smtp;550 5.1.1 The account does not exist",
    )


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("deferral", "deferred; 451 4.3.5 second try"),
        ("blacklist_add", "hard-bounce; 550 5.1.1 no such user"),
        ("nulls", ""),
    ],
)
def test_the_detail_says_why(name: str, detail: str) -> None:
    assert only_event(read(recorded(name))).detail == detail


def test_a_change_of_the_denylist_is_about_no_mail() -> None:
    assert only_event(read(recorded("blacklist_add"))).provider_message_id == ""


def test_a_message_id_that_only_the_message_has_is_as_good() -> None:
    assert only_event(read(recorded("nulls"))).provider_message_id == f"{12:032x}"


@pytest.mark.parametrize("metadata", [None, [], "x", 5, ["mailward_env"], {"mailward_env": 5}])
def test_odd_metadata_is_as_good_as_none(metadata: object) -> None:
    assert only_event(said_of(metadata=metadata)).environment == ""


def test_the_local_part_keeps_its_case_if_told_so() -> None:
    event = only_event(read(form([{"event": "spam", "msg": {"email": "Jane@Example.com"}}]), keep_local_case=True))

    assert event.recipient == "Jane@example.com"


def test_event_ids_are_told_apart_by_event_mail_time_recipient_and_url() -> None:
    items = [
        {"event": "spam", "_id": "abc", "ts": 1, "msg": {"email": JANE}},
        {"event": "unsub", "_id": "abc", "ts": 1, "msg": {"email": JANE}},
        {"event": "spam", "_id": "abd", "ts": 1, "msg": {"email": JANE}},
        {"event": "spam", "_id": "abc", "ts": 2, "msg": {"email": JANE}},
        {"event": "spam", "_id": "abc", "ts": 1, "msg": {"email": "kim@example.net"}},
        {"event": "spam", "_id": "abc", "ts": 1, "url": "https://example.org/", "msg": {"email": JANE}},
        {"type": "blacklist", "action": "add", "ts": 1, "reject": {"email": JANE}},
    ]

    assert len({event.event_id for event in read(form(items)).events}) == len(items)


def test_what_mandrill_adds_on_a_repetition_leaves_the_event_id_alone() -> None:
    once, again = said_of("deferral"), said_of("deferral", opens=[{"ts": 5}], smtp_events=[{"diag": "451"}])

    assert only_event(once).event_id == only_event(again).event_id


# --- odd shapes -------------------------------------------------------------------------------------------------------


def test_a_batch_is_read_event_by_event() -> None:
    said = read(recorded("batch"))

    assert [(event.kind, event.recipient) for event in said.events] == [
        (Kind.ACCEPTED, JANE),
        (Kind.HARD_BOUNCE, JANE),
        (Kind.COMPLAINT, "kim@example.net"),
    ]
    assert (said.indexes, said.parked, dict(said.counted)) == ((0, 1, 3), (), {Kind.OTHER: 1})


def test_broken_items_are_parked_and_their_neighbours_go_on() -> None:
    said = read(recorded("batch_with_broken_items"))

    assert [event.kind for event in said.events] == [Kind.DELIVERED, Kind.COMPLAINT]
    assert said.indexes == (0, 4)
    assert [(item.index, item.reason) for item in said.parked] == [
        (1, "the item is not a JSON object"),
        (2, "hard_bounce without a single recipient: there is no address"),
        (3, "the item has neither event nor type"),
    ]


def test_the_test_buttons_events_are_counted_and_touch_nobody() -> None:
    said = read(recorded("test_button"))

    assert said == Normalised(counted={Kind.OTHER: 9})
    assert {item.rule for item in said.counted_items} == {"mandrill.test_button"}


def test_a_removal_without_its_message_is_parked() -> None:
    said = read(recorded("without_message"))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, john@example.org", "jane\u200b@example.com"])
def test_a_removal_that_names_no_single_recipient_is_parked_without_its_address(email: object) -> None:
    said = said_of(email=email)

    assert (said.events, [item.index for item in said.parked]) == ((), [0])
    assert "example" not in said.parked[0].reason


@pytest.mark.parametrize("email", [None, [JANE], f"{JANE}, john@example.org"])
def test_other_kinds_without_a_single_recipient_are_only_counted(email: object) -> None:
    assert said_of("delivered", email=email) == Normalised(counted={Kind.DELIVERED: 1})


def test_the_letters_of_events_types_and_actions_may_be_of_either_case() -> None:
    items = [
        {"event": "Hard_Bounce", "msg": {"email": JANE}},
        {"type": "Blacklist", "action": "ADD", "reject": {"email": JANE}},
    ]

    assert [event.kind for event in read(form(items)).events] == [Kind.HARD_BOUNCE, Kind.REJECTED]


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("soft-bounce", Kind.SOFT_BOUNCE),
        ("soft_bounce", Kind.SOFT_BOUNCE),
        ("hard-bounce", Kind.HARD_BOUNCE),
        ("Hard_Bounce", Kind.HARD_BOUNCE),
    ],
)
def test_a_bounce_is_one_however_the_words_of_its_name_are_joined(event: str, kind: Kind) -> None:
    assert only_event(said_of(event)).kind is kind


@pytest.mark.parametrize("reason", ["hard-bounce", "hard_bounce", "spam", "unsub", "invented", None])
def test_a_reject_is_no_new_evidence_whatever_its_reason(reason: object) -> None:
    assert only_event(said_of("reject", reject={"reason": reason})).kind is Kind.REJECTED


@pytest.mark.parametrize("item", [{}, {"event": None}, {"event": 5}, {"event": ["spam"], "type": {}}])
def test_an_item_without_event_and_type_is_parked(item: object) -> None:
    assert read(form([item])).parked == (ParkedItem(0, "the item has neither event nor type"),)


@pytest.mark.parametrize("msg", [None, 5, "x", [], [{"email": JANE}]])
def test_an_odd_message_names_nobody(msg: object) -> None:
    assert [item.index for item in read(form([{"event": "spam", "msg": msg}])).parked] == [0]


@pytest.mark.parametrize("body", [recorded("empty_batch"), b"mandrill_events="])
def test_an_empty_list_means_nothing(body: bytes) -> None:
    assert read(body) == Normalised()


@pytest.mark.parametrize(
    "body",
    [
        recorded("not_json"),
        b"",
        b"[]",
        b"other=%5B%5D",
        b"mandrill_events=%5B%5D&mandrill_events=%5B%5D",
        b"mandrill_events=null",
        b"mandrill_events=%FF%FE",
        b"mandrill_events=%5BNaN%5D",
        b"\xff\xfe",
        b"mandrill_events=" + b"[" * 200_000,
    ],
)
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})
