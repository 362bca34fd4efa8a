"""Mailgun: what each of its posts comes to, JSON and legacy forms, and how odd ones are read."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import REMOVING, Event, Kind
from providers.base import Normalised
from providers.mailgun import mailgun
from tests.unit.providers.payloads import PAYLOADS, RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import COUNTED, JANE, PARKED, assert_comes_to, only_event
from tests.unit.providers.security_cases import SECRET

TOKEN = "4f0c3a9b1d7e2f86a5c4b3d2e1f0a9b8c7d6e5f4a3b2c1d0e9"
MOMENT = datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC)
MESSAGE_ID = "20261122234112.1.0F1E2D3C4B5A@mail.example.org"

RECORDED = {
    "accepted": (Kind.ACCEPTED, "mailgun.accepted"),
    "delivered": (Kind.DELIVERED, "mailgun.delivered"),
    "complained": (Kind.COMPLAINT, "mailgun.complained"),
    "complained_with_variables": (Kind.COMPLAINT, "mailgun.complained"),
    "complained_of_subaccount": (Kind.COMPLAINT, "mailgun.complained"),
    "without_id": (Kind.COMPLAINT, "mailgun.complained"),
    "unsubscribed": (Kind.UNSUBSCRIBED, "mailgun.unsubscribed"),
    "rejected_without_recipient": (Kind.REJECTED, "mailgun.rejected"),
    "failed_temporary": (Kind.DEFERRED, "mailgun.failed_temporarily"),
    "failed_temporary_greylisted": (Kind.DEFERRED, "mailgun.failed_temporarily"),
    "failed_bounce": (Kind.HARD_BOUNCE, "mailgun.bounced"),
    "failed_bounce_soft": (Kind.SOFT_BOUNCE, "mailgun.failed_soft"),
    "failed_suppress_bounce": (Kind.REJECTED, "mailgun.failed_on_suppression_list"),
    "failed_suppress_complaint": (Kind.REJECTED, "mailgun.failed_on_suppression_list"),
    "failed_suppress_unsubscribe": (Kind.REJECTED, "mailgun.failed_on_suppression_list"),
    "failed_generic_hard": (Kind.HARD_BOUNCE, "mailgun.failed_hard"),
    "failed_generic_no_mailbox": (Kind.HARD_BOUNCE, "mailgun.failed_no_such_address"),
    "failed_generic_policy": (Kind.SOFT_BOUNCE, "mailgun.failed_otherwise"),
    "failed_old": (Kind.SOFT_BOUNCE, "mailgun.failed_otherwise"),
    "failed_espblock": (Kind.SOFT_BOUNCE, "mailgun.failed_otherwise"),
    "failed_without_status": (Kind.SOFT_BOUNCE, "mailgun.failed_otherwise"),
    "failed_without_severity": (Kind.SOFT_BOUNCE, "mailgun.failed_otherwise"),
    "failed_without_recipient": (PARKED, "hard_bounce without a single recipient"),
    "failed_two_recipients": (PARKED, "hard_bounce without a single recipient"),
    "opened": (COUNTED, ""),
    "clicked": (COUNTED, ""),
    "stored": (COUNTED, ""),
    "list_member_uploaded": (COUNTED, ""),
    "invented_event": (COUNTED, ""),
    "without_event_data": (PARKED, "the body names no event"),
    "empty_event_data": (PARKED, "the body names no event"),
}
FORMS = {
    "legacy_delivered.form": (Kind.DELIVERED, "mailgun_legacy.delivered"),
    "legacy_bounced_5xx.form": (Kind.HARD_BOUNCE, "mailgun_legacy.bounced_5xx"),
    "legacy_bounced_enhanced.form": (Kind.HARD_BOUNCE, "mailgun_legacy.bounced_5xx"),
    "legacy_bounced.multipart": (Kind.HARD_BOUNCE, "mailgun_legacy.bounced_5xx"),
    "legacy_bounced_4xx.form": (Kind.SOFT_BOUNCE, "mailgun_legacy.bounced_otherwise"),
    "legacy_bounced_without_code.form": (Kind.SOFT_BOUNCE, "mailgun_legacy.bounced_otherwise"),
    "legacy_dropped_suppressed.form": (Kind.REJECTED, "mailgun_legacy.dropped_on_suppression_list"),
    "legacy_dropped_hardfail.form": (Kind.REJECTED, "mailgun_legacy.dropped"),
    "legacy_dropped_old.form": (Kind.REJECTED, "mailgun_legacy.dropped"),
    "legacy_complained.form": (Kind.COMPLAINT, "mailgun_legacy.complained"),
    "legacy_colliding_variables.form": (Kind.COMPLAINT, "mailgun_legacy.complained"),
    "legacy_unsubscribed.form": (Kind.UNSUBSCRIBED, "mailgun_legacy.unsubscribed"),
    "legacy_opened.form": (COUNTED, ""),
    "legacy_complained_without_recipient.form": (PARKED, "complaint without a single recipient"),
}


def read(body: bytes, *, keep_local_case: bool = False) -> Normalised:
    return mailgun((SECRET,), keep_local_case=keep_local_case).normalise(posted(body))


def form(name: str) -> bytes:
    return (PAYLOADS / "mailgun" / name).read_bytes()


def changed(name: str, **members: Any) -> bytes:
    """A recorded JSON post with members of its event-data replaced (`_` in a name stands for `-`)."""
    body = json.loads(recorded("mailgun", name))
    body["event-data"] |= {member.replace("_", "-"): value for member, value in members.items()}
    return json.dumps(body).encode()


def with_field(name: str, field: str, value: str | None) -> bytes:
    """A recorded form with one field replaced, or removed where None."""
    fields = [one for one in parse_qsl(form(name).decode(), keep_blank_values=True) if one[0] != field]
    return urlencode(fields + ([] if value is None else [(field, value)])).encode()


def assert_post_comes_to(said: Normalised, expected: tuple[str, str]) -> None:
    assert_comes_to(said, expected)
    assert all(event.single_use == f"mailgun:{TOKEN}" for event in said.events)


def test_every_recorded_post_has_its_outcome_written_down() -> None:
    assert names("mailgun") == set(RECORDED)
    assert {path.name for path in (PAYLOADS / "mailgun").glob("legacy_*")} == set(FORMS)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_post_comes_to(name: str, expected: tuple[str, str]) -> None:
    assert_post_comes_to(read(recorded("mailgun", name)), expected)


@pytest.mark.parametrize(("name", "expected"), FORMS.items())
def test_a_recorded_legacy_form_comes_to(name: str, expected: tuple[str, str]) -> None:
    assert_post_comes_to(read(form(name)), expected)


# --- current posts ----------------------------------------------------------------------------------------------------


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("mailgun", "complained_with_variables"))) == Event(
        event_id="mailgun:Fz3mUpEvTnOaBcDeFgHiJk@1795390872.126843",
        provider="mailgun",
        kind=Kind.COMPLAINT,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=MOMENT.replace(microsecond=126843),
        received_at=RECEIVED_AT,
        rule="mailgun.complained",
        provider_message_id=MESSAGE_ID,
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        single_use=f"mailgun:{TOKEN}",
    )


def test_the_detail_says_why() -> None:
    assert only_event(read(recorded("mailgun", "failed_bounce"))).detail == (
        "permanent; bounce; 550; 5.1.1; hard; no such user"
    )


def test_one_failure_delivered_four_times_under_new_tokens_is_one_event() -> None:
    body = json.loads(recorded("mailgun", "failed_bounce"))
    posts = [body | {"signature": {"timestamp": f"179539087{n}", "token": f"{n}" * 50}} for n in range(4)]
    events = [only_event(read(json.dumps(post).encode())) for post in posts]

    assert len({event.event_id for event in events}) == 1
    assert len({event.single_use for event in events}) == 4


def test_an_id_that_comes_again_on_another_day_is_another_event() -> None:
    ids = {only_event(read(changed("complained", timestamp=time))).event_id for time in (1795390872.1, 1795477272.1)}

    assert len(ids) == 2


@pytest.mark.parametrize("own_id", [None, "", [], {}, True])
def test_an_event_without_an_id_gets_a_stable_one_of_its_own(own_id: object) -> None:
    body = changed("complained", id=own_id)
    other = changed("complained", id=own_id, timestamp=1795390999)

    assert only_event(read(body)).event_id == only_event(read(body)).event_id != only_event(read(other)).event_id
    assert only_event(read(body)).event_id.startswith("mailgun:composite-")


@pytest.mark.parametrize("status", [None, {}, [], "550", 5, {"code": None}, {"code": "", "message": None}])
def test_a_delivery_status_that_is_null_or_odd_is_as_good_as_absent(status: object) -> None:
    event = only_event(read(changed("failed_without_status", delivery_status=status)))

    assert (event.kind, event.recipient) == (Kind.SOFT_BOUNCE, JANE)
    assert only_event(read(changed("failed_bounce", delivery_status=status))).kind is Kind.HARD_BOUNCE


@pytest.mark.parametrize("code", [605, 606, 607, "605", None])
@pytest.mark.parametrize("reason", ["suppress-bounce", "suppress-complaint", "suppress-unsubscribe"])
def test_an_echo_of_the_suppression_list_is_no_new_bounce_or_complaint(reason: str, code: object) -> None:
    body = changed("failed_suppress_bounce", reason=reason, delivery_status={"code": code, "bounce-type": "hard"})

    assert only_event(read(body)).kind is Kind.REJECTED


@pytest.mark.parametrize("severity", [None, "", "internal", "unknown", "temporary", 5, ["permanent"]])
def test_a_bounce_that_is_not_called_permanent_is_not_hard(severity: object) -> None:
    assert only_event(read(changed("failed_bounce", severity=severity))).kind in {Kind.SOFT_BOUNCE, Kind.DEFERRED}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("5.1.1", Kind.HARD_BOUNCE),
        ("5.1.10", Kind.HARD_BOUNCE),
        ("5.1.100", Kind.SOFT_BOUNCE),
        ("5.1.4", Kind.SOFT_BOUNCE),
        ("15.1.1", Kind.SOFT_BOUNCE),
        ("5.7.1", Kind.SOFT_BOUNCE),
        (None, Kind.SOFT_BOUNCE),
    ],
)
def test_a_generic_failure_is_hard_only_with_a_code_about_the_address(code: object, kind: Kind) -> None:
    body = changed("failed_generic_no_mailbox", delivery_status={"enhanced-code": code})

    assert only_event(read(body)).kind is kind


@pytest.mark.parametrize("name", ["failed_bounce", "complained"])
@pytest.mark.parametrize("recipient", [None, "", 5, [JANE], f"{JANE}, john@example.org", "jane\u200b@example.com"])
def test_a_removal_that_names_no_single_recipient_is_parked_whoever_the_mail_was_for(
    name: str, recipient: object
) -> None:
    said = read(changed(name, recipient=recipient))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


def test_a_rejected_mail_to_several_is_counted_only() -> None:
    headers = {"to": f"{JANE}, john@example.org"}

    assert read(changed("rejected_without_recipient", message={"headers": headers})).counted == {Kind.REJECTED: 1}


@pytest.mark.parametrize("variables", [None, [], "x", 5, {"mailward_env": 5}, {"mailward_env": "x" * 257}])
def test_odd_variables_are_as_good_as_none(variables: object) -> None:
    assert only_event(read(changed("complained", user_variables=variables))).environment == ""


@pytest.mark.parametrize("message", [None, [], {"headers": None}, {"headers": {"message-id": None}}])
def test_a_mail_without_an_id_is_read_nonetheless(message: object) -> None:
    assert only_event(read(changed("complained", message=message))).provider_message_id == ""


def test_the_local_part_keeps_its_case_if_told_so() -> None:
    event = only_event(read(changed("complained", recipient="Jane.Doe@Example.com"), keep_local_case=True))

    assert event.recipient == "Jane.Doe@example.com"


# --- legacy forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["legacy_complained.form", "legacy_unsubscribed.form", "legacy_bounced.multipart"])
def test_a_form_carries_id_time_and_tags_of_the_mail(name: str) -> None:
    event = only_event(read(form(name)))

    assert (event.provider_message_id, event.occurred_at) == (MESSAGE_ID, MOMENT)
    assert (event.environment, event.campaign_id, event.recipient_id) == ("production", "spring-2026", "r_000042")


def test_a_form_posted_again_is_the_same_event_and_one_about_another_is_not() -> None:
    again, other = (
        form("legacy_bounced_5xx.form"),
        with_field("legacy_bounced_5xx.form", "recipient", "john@example.org"),
    )

    assert only_event(read(again)).event_id == only_event(read(again)).event_id != only_event(read(other)).event_id


def test_a_multipart_form_says_what_the_same_urlencoded_one_does() -> None:
    urlencoded, multipart = (only_event(read(form(f"legacy_bounced{end}"))) for end in ("_5xx.form", ".multipart"))

    assert urlencoded == multipart
    assert multipart.detail == "550; 5.1.1 no such user"


@pytest.mark.parametrize(
    "headers", ["", "null", "[", "{}", "[5]", '[["X-Mailgun-Variables", "["]]', '[["a"]]', "[" * 5000, "\u202e"]
)
def test_odd_message_headers_are_as_good_as_none(headers: str) -> None:
    event = only_event(read(with_field("legacy_complained.form", "message-headers", headers)))

    assert (event.recipient, event.provider_message_id, event.environment) == (JANE, "", "")


@pytest.mark.parametrize("recipient", [None, "", f"{JANE}, john@example.org", "jane\ufffd"])
def test_a_form_that_removes_but_names_no_single_recipient_is_parked(recipient: str | None) -> None:
    said = read(with_field("legacy_complained.form", "recipient", recipient))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


# --- odd bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not a form",
        b"null",
        b"[]",
        b"{}",
        b"{",
        b"\xff\xfe",
        b'{"event-data": {"event": null}}',
        b'{"event-data": {"event": ["complained"]}}',
        b'{"event-data": [{"event": "complained"}]}',
        b'{"event-data": {"event": "complained", "n": NaN}}',
        b"recipient=jane@example.com",
        b"--",
        b"--\r\n",
        pytest.param(b"--" + b"b" * 100 + b"\r\n", id="endless boundary"),
        pytest.param(b"--b\r\n" + b"--b\r\n" * 2000, id="endless parts"),
        b"--b\r\n\r\n--b--",
        b"--b\r\nContent-Disposition: form-data\r\n\r\ncomplained\r\n--b--\r\n",
        pytest.param(b"a&" * 2000 + b"event=complained", id="endless fields"),
        pytest.param(b'{"event-data": ' + b"[" * 200_000, id="deep nesting"),
    ],
)
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


FORM_BYTES = form("legacy_bounced.multipart")
pieces = st.sampled_from(
    [FORM_BYTES[:19], b"\r\n", b"\r\n\r\n", b"--", b'; name="event"', b"Content-Disposition: ", b"=", b"&"]
)


@given(st.lists(st.one_of(pieces, st.binary(max_size=20)), max_size=20), st.integers(0, len(FORM_BYTES)))
def test_no_bytes_raise_or_remove_anybody_whom_they_do_not_name(inserted: list[bytes], at: int) -> None:
    body = FORM_BYTES[:at] + b"".join(inserted) + FORM_BYTES[at:]

    for event in read(body).events:
        assert event.kind not in REMOVING or event.recipient_verbatim.encode() in body


def test_events_without_any_token_share_one_proof_so_that_only_one_could_count() -> None:
    said = read(json.dumps({"event-data": {"event": "complained", "recipient": JANE}}).encode())

    assert only_event(said).single_use == "mailgun:"
