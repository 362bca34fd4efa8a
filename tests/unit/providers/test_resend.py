"""Resend: what each of its posts comes to, whom it concerns, and how odd ones are read."""

import json
from datetime import UTC, datetime

import pytest

from core.addresses import digest
from core.events import DETAIL_LIMIT, Event, Kind
from providers.base import Normalised
from providers.resend import Resend
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import COUNTED, JANE, PARKED, assert_comes_to, only_event
from tests.unit.providers.security_cases import SECRET, SecurityCases

RECORDED = {
    "complained": (Kind.COMPLAINT, "resend.complained"),
    "complained_with_tags": (Kind.COMPLAINT, "resend.complained"),
    "complained_with_tag_list": (Kind.COMPLAINT, "resend.complained"),
    "bounced_permanent_general": (Kind.HARD_BOUNCE, "resend.permanent_no_mailbox"),
    "bounced_permanent_no_email": (Kind.HARD_BOUNCE, "resend.permanent_no_mailbox"),
    "bounced_permanent_suppressed": (Kind.HARD_BOUNCE, "resend.permanent_suppressed"),
    "bounced_permanent_on_account_list": (Kind.REJECTED, "resend.permanent_on_suppression_list"),
    "bounced_permanent_mailbox_full": (Kind.SOFT_BOUNCE, "resend.permanent_not_the_mailbox"),
    "bounced_permanent_without_sub_type": (Kind.HARD_BOUNCE, "resend.permanent_without_sub_type"),
    "bounced_permanent_new_sub_type": (Kind.SOFT_BOUNCE, "resend.permanent_unknown_sub_type"),
    "bounced_transient_general": (Kind.SOFT_BOUNCE, "resend.transient"),
    "bounced_undetermined": (Kind.SOFT_BOUNCE, "resend.bounce_undetermined"),
    "bounced_of_2023": (Kind.SOFT_BOUNCE, "resend.bounce_undetermined"),
    "bounced_display_name": (Kind.HARD_BOUNCE, "resend.permanent_no_mailbox"),
    "bounced_two_recipients": (PARKED, "hard_bounce without a single recipient"),
    "bounced_packed_recipients": (PARKED, "hard_bounce without a single recipient"),
    "bounced_with_copy": (PARKED, "hard_bounce without a single recipient"),
    "suppressed": (Kind.REJECTED, "resend.suppressed"),
    "failed": (Kind.REJECTED, "resend.failed"),
    "delivered": (Kind.DELIVERED, "resend.delivered"),
    "delivery_delayed": (Kind.DEFERRED, "resend.delivery_delayed"),
    "sent": (Kind.ACCEPTED, "resend.sent"),
    "opened": (COUNTED, ""),
    "scheduled": (COUNTED, ""),
    "suppression_added": (Kind.REJECTED, "resend.suppression_added"),
    "suppression_removed": (COUNTED, ""),
    "contact_unsubscribed": (Kind.UNSUBSCRIBED, "resend.contact_unsubscribed"),
    "contact_updated": (COUNTED, ""),
    "domain_updated": (COUNTED, ""),
}


class TestSecurity(SecurityCases):
    name = "resend"
    signature_header = "svix-signature"

    def make(self, *secrets: str) -> Resend:
        return Resend(secrets, tolerance_s=300)


def read(body: bytes, **options: bool) -> Normalised:
    return Resend((SECRET,), **options).normalise(posted(body))


def said_of(
    kind_of_event: str = "email.complained", created_at: object = "2026-11-22T23:41:12Z", **data: object
) -> Normalised:
    return read(json.dumps({"type": kind_of_event, "created_at": created_at, "data": {"to": [JANE], **data}}).encode())


def hard(**data: object) -> Normalised:
    return said_of("email.bounced", bounce={"type": "Permanent", "subType": "General"}, **data)


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("resend") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[str, str]) -> None:
    said = read(recorded("resend", name))
    assert_comes_to(said, expected)
    assert {item.index for item in said.parked} <= {0}


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("resend", "complained_with_tags"))) == Event(
        event_id="resend:msg_1",
        provider="resend",
        kind=Kind.COMPLAINT,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="resend.complained",
        provider_message_id="56761188-7520-42d8-8898-ff6fc54ce618",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="",
    )


def test_tags_may_be_an_object_or_a_list_of_pairs() -> None:
    as_object, as_list = (
        read(recorded("resend", name)) for name in ("complained_with_tags", "complained_with_tag_list")
    )

    assert only_event(as_object) == only_event(as_list)


@pytest.mark.parametrize(
    "tags", [None, "x", 5, [], [None, "x", {"name": 5}, {"name": "mailward_env"}], {"mailward_env": 5}]
)
def test_odd_tags_are_as_good_as_none(tags: object) -> None:
    assert only_event(said_of(tags=tags)).environment == ""


@pytest.mark.parametrize("value", ["x" * 257, "a\x00b", "a\ud800"])
def test_a_tag_that_is_no_id_of_ours_names_nobody(value: str) -> None:
    assert only_event(said_of(tags={"mailward_recipient": value})).recipient_id == ""


@pytest.mark.parametrize("kind", [Kind.HARD_BOUNCE, Kind.REJECTED])
def test_whether_a_suppressed_bounce_is_hard_is_a_setting(kind: Kind) -> None:
    body = recorded("resend", "bounced_permanent_suppressed")

    assert only_event(read(body, suppressed_is_hard=kind is Kind.HARD_BOUNCE)).kind is kind


@pytest.mark.parametrize("kind", [Kind.HARD_BOUNCE, Kind.SOFT_BOUNCE])
def test_whether_an_unknown_permanent_bounce_is_hard_is_a_setting(kind: Kind) -> None:
    body = recorded("resend", "bounced_permanent_new_sub_type")

    assert only_event(read(body, unknown_permanent_is_hard=kind is Kind.HARD_BOUNCE)).kind is kind


# --- whom an event concerns -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "to",
    [
        "Jane.Doe@Example.com",
        ["Jane.Doe@Example.com"],
        [" jane.doe@example.com\n"],
        ["<jane.doe@example.com>"],
        ['"Doe, Jane" <jane.doe@example.com>'],
    ],
)
def test_a_single_recipient_is_affected_in_whatever_form_it_is_written(to: object) -> None:
    assert only_event(hard(to=to)).recipient == JANE


@pytest.mark.parametrize(
    "to",
    [
        None,
        [],
        "",
        [None],
        [""],
        [5],
        [[JANE]],
        {"email": JANE},
        [JANE, "john@example.org"],
        [f"{JANE}, john@example.org"],
        f"{JANE}; john@example.org",
        ["not an address"],
        ["jane.doe@example.com\x00"],
        ["jane.doe\u200b@example.com"],
        ["jane.doe@example.com\ud800"],
    ],
)
def test_a_removal_that_names_no_single_recipient_is_parked(to: object) -> None:
    said = hard(to=to)

    assert (said.events, len(said.parked), dict(said.counted)) == ((), 1, {})


@pytest.mark.parametrize("field", ["cc", "bcc"])
@pytest.mark.parametrize("copy", ["john@example.org", ["john@example.org"], [None], {"email": "john@example.org"}])
def test_with_a_copy_the_recipient_in_to_is_not_known_to_be_affected(field: str, copy: object) -> None:
    assert hard(**{field: copy}).events == ()


@pytest.mark.parametrize("nothing", [None, [], ""])
def test_an_empty_copy_is_no_copy(nothing: object) -> None:
    assert only_event(hard(cc=nothing, bcc=nothing)).recipient == JANE


@pytest.mark.parametrize("field", ["to", "cc", "bcc"])
def test_of_several_recipients_the_one_that_our_tag_names_is_affected(field: str) -> None:
    others = {"to": ["john@example.org"], "cc": "kim@example.net", "bcc": ["lee@example.net", "not an address"]}
    mixed = others | {field: ["Jane Doe <Jane.Doe@example.com>", "max@example.org"]}

    assert only_event(hard(**mixed, tags={"mailward_to": digest(JANE)})).recipient == JANE


@pytest.mark.parametrize("named", ["", digest("kim@example.net"), digest(JANE).upper(), JANE, "0" * 32])
def test_a_tag_that_names_none_of_several_recipients_removes_nobody(named: str) -> None:
    said = hard(to=[JANE, "john@example.org"], tags={"mailward_to": named})

    assert (said.events, len(said.parked)) == ((), 1)


def test_more_recipients_than_resend_allows_are_not_searched() -> None:
    crowd = [f"reader{n}@example.com" for n in range(200)]

    assert hard(to=[JANE, *crowd], tags={"mailward_to": digest(JANE)}).events == ()


@pytest.mark.parametrize("event_type", ["email.delivered", "email.sent", "email.delivery_delayed", "email.failed"])
def test_other_kinds_without_a_single_recipient_are_only_counted(event_type: str) -> None:
    said = said_of(event_type, to=[JANE, "john@example.org"])

    assert (said.events, said.parked, sum(said.counted.values())) == ((), (), 1)


def test_a_suppression_concerns_the_address_in_email_and_not_in_to() -> None:
    assert only_event(said_of("suppression.added", email="Kim@example.net")).recipient == "kim@example.net"


def test_the_local_part_keeps_its_case_if_told_so() -> None:
    event = only_event(read(recorded("resend", "bounced_display_name"), keep_local_case=True))

    assert (event.recipient, event.recipient_verbatim) == ("Jane.Doe@example.com", "Jane.Doe@Example.com")


# --- ids and times ----------------------------------------------------------------------------------------------------


def test_the_event_id_is_the_signed_id_so_a_retry_is_the_same_event() -> None:
    provider, body = Resend((SECRET,)), recorded("resend", "complained")
    ids = [only_event(provider.normalise(posted(body, message_id=one))).event_id for one in ("msg_1", "msg_1", "msg_2")]

    assert ids == ["resend:msg_1", "resend:msg_1", "resend:msg_2"]


def test_an_endless_event_id_is_cut_to_a_stable_one_that_is_still_its_own() -> None:
    provider, body = Resend((SECRET,)), recorded("resend", "complained")
    once, again, other = (
        only_event(provider.normalise(posted(body, message_id="m" * 4000 + end))).event_id for end in "aab"
    )

    assert once == again != other
    assert len(once) <= 255


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-11-22T23:41:12.126Z", datetime(2026, 11, 22, 23, 41, 12, 126000, UTC)),
        ("2026-11-23T01:41:12+02:00", datetime(2026, 11, 22, 23, 41, 12, 0, UTC)),
        ("2026-11-22 23:41:12.894719+00", datetime(2026, 11, 22, 23, 41, 12, 894719, UTC)),
        ("2026-11-22T23:41:12", datetime(2026, 11, 22, 23, 41, 12, 0, UTC)),
        ("2030-01-01T00:00:00Z", RECEIVED_AT),
        ("9999-12-31T23:59:59-14:00", RECEIVED_AT),
        ("0001-01-01T00:00:00+14:00", RECEIVED_AT),
        ("soon", RECEIVED_AT),
        ("", RECEIVED_AT),
        ("\ud800", RECEIVED_AT),
        (None, RECEIVED_AT),
        (1764417600, RECEIVED_AT),
    ],
)
def test_the_event_time_is_utc_and_never_in_the_future(written: object, moment: datetime) -> None:
    assert only_event(said_of(created_at=written)).occurred_at == moment


# --- odd bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        '{"type": "email.complained"}'.encode("utf-16"),
        b"null",
        b"[]",
        b'"email.complained"',
        b"{}",
        b'{"type": null}',
        b'{"type": 5}',
        b'{"type": ["email.complained"]}',
        b'{"type": "email.complained", "data": NaN}',
        b'{"type": "email.complained", "data": -Infinity}',
        pytest.param(b'{"type": "email.complained", "n": ' + b"9" * 5000 + b"}", id="an endless number"),
        pytest.param(b'{"type": ' + b"[" * 200_000, id="deep nesting"),
        b'{"type": "email.complained"} trailing',
    ],
)
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


@pytest.mark.parametrize("data", [None, 5, "x", [], [{"to": [JANE]}]])
def test_a_removal_without_readable_data_is_parked(data: object) -> None:
    said = read(json.dumps({"type": "email.complained", "data": data}).encode())

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


def test_the_letters_of_type_and_bounce_may_be_of_either_case() -> None:
    said = said_of("EMAIL.Bounced", bounce={"type": "PERMANENT", "subType": "noemail"})

    assert only_event(said).kind is Kind.HARD_BOUNCE


def test_the_reason_of_a_parked_item_holds_no_address() -> None:
    assert JANE not in hard(to=[JANE, "john@example.org"]).parked[0].reason


def test_the_detail_says_what_the_provider_said_in_one_bounded_line() -> None:
    bounce = {
        "type": "Permanent",
        "subType": "General",
        "diagnosticCode": ["smtp; 550 5.1.1\r\nno such\x00 user", 5, None, {"x": 1}],
        "message": "caf\u00e9 \ud800 \u202e" + "x" * 5000,
    }
    detail = only_event(said_of("email.bounced", bounce=bounce)).detail

    assert detail.startswith("Permanent; General; smtp; 550 5.1.1 no such  user; 5; caf\u00e9")
    assert len(detail) == DETAIL_LIMIT
    assert not set(detail) & set("\x00\r\n\ud800\u202e")


def test_an_email_id_that_is_no_id_gets_a_stable_stand_in() -> None:
    event = only_event(said_of(email_id="x\x00\ud800" + "y" * 5000))

    assert event.provider_message_id.isascii()
    assert event.provider_message_id.isprintable()
    assert len(event.provider_message_id) <= 255
