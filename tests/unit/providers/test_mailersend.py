"""MailerSend: what each of its posts comes to, in the payload of 2025 and in the one before, and whom it concerns."""

import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest

from config.settings import load
from core.events import Event, Kind
from providers.base import PUBLIC_TEST, Normalised, ProofRefused, Provider, Request
from providers.mailersend import ANSWERS, ENTRY, PUBLIC_SECRET, mailersend
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import COUNTED, JANE, NOTHING, PARKED, assert_comes_to, only_event
from tests.unit.providers.security_cases import SECRET, SENT_AT, SecurityCases

RECORDED: dict[str, tuple[str, str]] = {
    "sent": (Kind.ACCEPTED, "mailersend.sent"),
    "delivered": (Kind.DELIVERED, "mailersend.delivered"),
    "deferred": (Kind.DEFERRED, "mailersend.deferred"),
    "soft_bounced": (Kind.SOFT_BOUNCE, "mailersend.soft_bounced"),
    "hard_bounced": (Kind.HARD_BOUNCE, "mailersend.hard_bounced"),
    "spam_complaint": (Kind.COMPLAINT, "mailersend.spam_complaint"),
    "unsubscribed": (Kind.UNSUBSCRIBED, "mailersend.unsubscribed"),
    "address_under_email": (Kind.HARD_BOUNCE, "mailersend.hard_bounced"),
    "null_fields": (Kind.COMPLAINT, "mailersend.spam_complaint"),
    "v1_sent": (Kind.ACCEPTED, "mailersend.sent"),
    "v1_hard_bounced": (Kind.HARD_BOUNCE, "mailersend.hard_bounced"),
    "v1_unsubscribed": (Kind.UNSUBSCRIBED, "mailersend.unsubscribed"),
    "opened": (COUNTED, Kind.OTHER),
    "clicked_unique": (COUNTED, Kind.OTHER),
    "suppressed": (COUNTED, Kind.OTHER),
    "on_hold_added": (COUNTED, Kind.OTHER),
    "maintenance": (COUNTED, Kind.OTHER),
    "delivered_without_recipient": (COUNTED, Kind.DELIVERED),
    "without_recipient": (PARKED, "hard_bounce without a single recipient"),
    "data_null": (PARKED, "hard_bounce without a single recipient"),
    "several_recipients": (PARKED, "complaint without a single recipient"),
    "ping": (NOTHING, ""),
}


class TestSecurity(SecurityCases):
    name = "mailersend"
    signature_header = "signature"
    window_s = None
    future_s = None
    kinds_never_told = frozenset({Kind.REJECTED})

    def make(self, *secrets: str) -> Provider:
        return mailersend(secrets)

    def test_a_post_signed_with_the_public_secret_of_the_pings_is_refused(self) -> None:
        body = self.post().body
        signature = hmac.new(PUBLIC_SECRET.encode(), body, hashlib.sha256).hexdigest()
        with pytest.raises(ProofRefused):
            self.make(self.secret).verify(Request({"signature": signature}, body, SENT_AT))

    def test_a_ping_signed_with_the_public_secret_opens_the_door_for_nothing(self) -> None:
        body = recorded("mailersend", "ping")
        signature = hmac.new(PUBLIC_SECRET.encode(), body, hashlib.sha256).hexdigest()
        request = Request({"signature": signature}, body, SENT_AT)

        assert self.make(self.secret).verify(request) == PUBLIC_TEST
        assert self.make(self.secret).normalise(request) == Normalised()

    def test_a_ping_without_a_right_signature_is_refused(self) -> None:
        request = Request({"signature": "0" * 64}, recorded("mailersend", "ping"), SENT_AT)
        with pytest.raises(ProofRefused):
            self.make(self.secret).verify(request)

    def test_the_public_secret_of_the_pings_cannot_be_configured(self) -> None:
        with pytest.raises(ValueError, match="everybody knows"):
            self.make(self.secret, PUBLIC_SECRET)

    def test_a_body_whose_slashes_lost_their_escapes_is_refused(self) -> None:
        post = self.post(kind=Kind.OTHER)
        assert b"https:\\/\\/" in post.body
        with pytest.raises(ProofRefused):
            self.make(self.secret).verify(
                Request(post.headers, json.dumps(json.loads(post.body), separators=(",", ":")).encode(), SENT_AT)
            )


def read(body: bytes, *, keep_local_case: bool = False) -> Normalised:
    return mailersend((SECRET,), keep_local_case=keep_local_case).normalise(posted(body))


def changed(name: str, **data: object) -> bytes:
    """A recorded payload with members of its `data` replaced."""
    body = json.loads(recorded("mailersend", name))
    return json.dumps(body | {"data": body["data"] | data}).encode()


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("mailersend") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[str, str]) -> None:
    said = read(recorded("mailersend", name))
    assert_comes_to(said, expected)
    assert {item.index for item in said.parked} <= {0}


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("mailersend", "hard_bounced"))) == Event(
        event_id="mailersend:0a1b2c3d4e5f0a1b2c3d4e01",
        provider="mailersend",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="mailersend.hard_bounced",
        provider_message_id="0a1b2c3d4e5f0a1b2c3d4e02",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="hard; 550; 550 5.1.1 no such user, see https://example.org/help",
    )


def test_the_payload_before_2025_carries_the_same() -> None:
    event = only_event(read(recorded("mailersend", "v1_hard_bounced")))

    assert (event.event_id, event.provider_message_id) == (
        "mailersend:0a1b2c3d4e5f0a1b2c3d4e11",
        "0a1b2c3d4e5f0a1b2c3d4e13",
    )
    assert event.occurred_at == datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC)
    assert (event.campaign_id, event.recipient_id, event.environment) == ("spring-2026", "r_000042", "production")
    assert event.detail == "Host or domain name not found"


def test_without_an_id_of_its_own_an_event_gets_one_that_repeats() -> None:
    once, again = (only_event(read(changed("spam_complaint", id=None))).event_id for _ in range(2))
    other = only_event(read(changed("spam_complaint", id=None, message_id="another"))).event_id

    assert once == again != other


def test_a_removal_whose_recipient_is_missing_can_be_completed_by_an_operator() -> None:
    unaddressed = read(recorded("mailersend", "without_recipient")).parked[0].unaddressed

    assert unaddressed is not None
    assert (unaddressed.kind, unaddressed.recipient) == (Kind.HARD_BOUNCE, "")


@pytest.mark.parametrize("recipient", [None, "", 5, [JANE], {"id": "1"}, f"{JANE}, john@example.org"])
def test_a_removal_that_names_no_single_recipient_is_parked(recipient: object) -> None:
    said = read(changed("spam_complaint", recipient=recipient))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


def test_the_local_part_keeps_its_case_if_the_settings_say_so() -> None:
    body = changed("spam_complaint", recipient="Jane.Doe@Example.com")

    assert only_event(read(body, keep_local_case=True)).recipient == "Jane.Doe@example.com"


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[]", b"null", b"{}", b'{"type":null}', b'{"type":["activity.spam_complaint"]}']
)
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


def test_an_unknown_type_is_counted_only() -> None:
    assert read(b'{"type":"activity.teleported","data":{}}') == Normalised(counted={Kind.OTHER: 1})


def test_mailersend_is_answered_before_it_gives_up() -> None:
    assert (ANSWERS.deadline_s, ANSWERS.busy_status) == (2.0, 503)


def test_the_settings_make_it_or_say_what_is_wrong() -> None:
    assert ENTRY.make(load({}), lambda _: b"") is None
    assert ENTRY.make(load({"MAILERSEND_WEBHOOK_SECRETS": SECRET}), lambda _: b"") is not None
    with pytest.raises(ValueError, match="MAILERSEND_WEBHOOK_SECRETS holds the secret of"):
        ENTRY.make(load({"MAILERSEND_WEBHOOK_SECRETS": PUBLIC_SECRET}), lambda _: b"")
