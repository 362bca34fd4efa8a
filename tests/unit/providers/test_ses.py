"""Amazon SES: what each of its events comes to, whom it concerns, and whose topics are believed."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from config.settings import load
from core.events import Event, Kind
from providers import ses
from providers.base import Normalised, ProofRefused, Provider, Request
from providers.credentials import Credentials
from providers.signatures import Refusal
from providers.sns_envelope import Signer
from tests.unit.providers import reading
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import COUNTED, JANE, NOTHING, PARKED, assert_comes_to, only_event
from tests.unit.providers.security_cases import SENT_AT
from tests.unit.providers.sns_cases import SnsSecurityCases
from tests.unit.providers.sns_signing import CertificateHost, pem, rsa_key, signer

TOPIC = "arn:aws:sns:eu-west-1:123456789012:ses-feedback"
OTHER_TOPIC = "arn:aws:sns:us-east-1:123456789012:ses-feedback"
FOREIGN_TOPIC = "arn:aws:sns:eu-west-1:999999999999:mine"
CREDENTIALS = "sns:a-long-enough-password"

RECORDED = {
    "bounce_permanent_general": (Kind.HARD_BOUNCE, "ses.permanent_no_mailbox"),
    "bounce_permanent_no_email": (Kind.HARD_BOUNCE, "ses.permanent_no_mailbox"),
    "bounce_permanent_suppressed": (Kind.HARD_BOUNCE, "ses.permanent_suppressed"),
    "bounce_permanent_on_account_list": (Kind.REJECTED, "ses.permanent_on_suppression_list"),
    "bounce_permanent_on_tenant_list": (Kind.REJECTED, "ses.permanent_on_suppression_list"),
    "bounce_permanent_validation": (Kind.REJECTED, "ses.permanent_on_suppression_list"),
    "bounce_permanent_unsubscribed": (Kind.UNSUBSCRIBED, "ses.permanent_unsubscribed"),
    "bounce_permanent_new_sub_type": (Kind.SOFT_BOUNCE, "ses.permanent_unknown_sub_type"),
    "bounce_upper_case": (Kind.HARD_BOUNCE, "ses.permanent_no_mailbox"),
    "bounce_transient_general": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_transient_mailbox_full": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_transient_message_too_large": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_transient_custom_timeout": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_transient_content_rejected": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_transient_attachment_rejected": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_undetermined": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_undetermined_nobody": (COUNTED, Kind.SOFT_BOUNCE),
    "bounce_permanent_nobody": (PARKED, "hard_bounce without a single recipient"),
    "bounce_notification": (Kind.HARD_BOUNCE, "ses.permanent_no_mailbox"),
    "bounce_nulls": (Kind.SOFT_BOUNCE, "ses.bounce_not_permanent"),
    "bounce_bare": (COUNTED, Kind.SOFT_BOUNCE),
    "bounce_without_type": (PARKED, "neither eventType nor notificationType"),
    "complaint": (Kind.COMPLAINT, "ses.complaint"),
    "complaint_notification": (Kind.COMPLAINT, "ses.complaint"),
    "complaint_without_feedback_type": (Kind.COMPLAINT, "ses.complaint"),
    "complaint_auth_failure": (Kind.COMPLAINT, "ses.complaint"),
    "complaint_not_spam": (COUNTED, Kind.OTHER),
    "complaint_on_account_list": (Kind.REJECTED, "ses.complaint_on_suppression_list"),
    "complaint_two_recipients": (PARKED, "complaint without a single recipient: several addresses"),
    "complaint_nobody": (PARKED, "complaint without a single recipient"),
    "delivery": (Kind.DELIVERED, "ses.delivery"),
    "delivery_delay": (Kind.DEFERRED, "ses.delivery_delay"),
    "send": (COUNTED, Kind.ACCEPTED),
    "reject": (COUNTED, Kind.REJECTED),
    "rendering_failure": (COUNTED, Kind.REJECTED),
    "subscription": (COUNTED, Kind.UNSUBSCRIBED),
    "open": (COUNTED, Kind.OTHER),
    "click": (COUNTED, Kind.OTHER),
    "received": (COUNTED, Kind.OTHER),
    "unknown_type": (COUNTED, Kind.OTHER),
    "subscription_succeeded": (COUNTED, Kind.OTHER),
    "envelope_bounce": (Kind.HARD_BOUNCE, "ses.permanent_no_mailbox"),
    "envelope_delivery_without_subject": (Kind.DELIVERED, "ses.delivery"),
    "envelope_validated": (NOTHING, ""),
    "envelope_not_json": (PARKED, "the body is not JSON"),
    "envelope_sentence": (PARKED, "the body is not JSON"),
    "unsubscribe_confirmation": (COUNTED, Kind.OTHER),
}
SEVERAL = {"bounce_two_recipients", "bounce_one_broken_recipient", "delivery_two_recipients"}  # each has its own test


def certificate_url(topic: str) -> str:
    return f"https://sns.{topic.split(':')[3]}.amazonaws.com/SimpleNotificationService-{'0123456789abcdef' * 2}.pem"


class TestSecurity(SnsSecurityCases):
    name = "ses"
    secret = TOPIC
    next_secret = OTHER_TOPIC
    foreign_topic = FOREIGN_TOPIC
    certificate_url = certificate_url(TOPIC)
    api = "https://sns.eu-west-1.amazonaws.com/"

    def host(self) -> CertificateHost:
        return CertificateHost({certificate_url(topic): pem(rsa_key(topic)) for topic in (TOPIC, OTHER_TOPIC)})

    def made(self, topics: tuple[str, ...], host: CertificateHost, test_signer: Signer | None) -> Provider:
        return ses.composed(topics, host, signer=test_signer)

    def signer_of(self, topic: str) -> Signer:
        return signer(topic, certificate_url(topic))


def provider(**options: Any) -> Provider:
    return ses.composed((TOPIC,), CertificateHost({}), **options)


def read(body: bytes, **options: Any) -> Normalised:
    return provider(**options).normalise(posted(body))


def notified(message: bytes, message_id: object = "message-1", **options: Any) -> Normalised:
    """What an envelope around `message` comes to."""
    fields = {"Type": "Notification", "MessageId": message_id, "Message": message.decode(), "TopicArn": TOPIC}
    return read(json.dumps(fields | {"Timestamp": "2026-11-22T23:41:13.001Z"}).encode(), **options)


def changed(name: str, path: str, value: object) -> bytes:
    return reading.changed(recorded("ses", name), path, value)


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("ses") == {*RECORDED, *SEVERAL, "subscription_confirmation"}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[str, str]) -> None:
    assert_comes_to(read(recorded("ses", name)), expected)


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("ses", "envelope_bounce"))) == Event(
        event_id="ses:0102018f-feedback-1",
        provider="ses",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="ses.permanent_no_mailbox",
        provider_message_id="0102018f-mail-1",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="Permanent; General; failed; 5.1.1; smtp; 550 5.1.1 no such user",
    )


def test_a_permanent_bounce_removes_only_the_recipients_whose_delivery_failed() -> None:
    said = read(recorded("ses", "bounce_two_recipients"))

    assert [(event.recipient, event.kind, event.rule) for event in said.events] == [
        (JANE, Kind.HARD_BOUNCE, "ses.permanent_no_mailbox"),
        ("john@example.org", Kind.SOFT_BOUNCE, "ses.bounce_not_of_this_recipient"),
    ]
    assert [event.event_id for event in said.events] == [
        f"ses:0102018f-feedback-1:{JANE}",
        "ses:0102018f-feedback-1:john@example.org",
    ]
    assert [event.detail for event in said.events] == [
        "Permanent; General; failed; 5.1.1",
        "Permanent; General; delayed; 4.0.0",
    ]


def test_a_broken_entry_is_parked_and_its_neighbours_go_on() -> None:
    said = read(recorded("ses", "bounce_one_broken_recipient"))

    assert [event.recipient for event in said.events] == [JANE, "john@example.org"]
    assert [item.index for item in said.parked] == [0, 0]
    assert len({item.unaddressed.event_id for item in said.parked if item.unaddressed}) == 2


def test_a_delivery_to_several_is_an_event_for_each() -> None:
    said = read(recorded("ses", "delivery_two_recipients"))

    assert [(event.kind, event.recipient) for event in said.events] == [
        (Kind.DELIVERED, JANE),
        (Kind.DELIVERED, "john@example.org"),
    ]


def test_a_production_auto_reply_with_an_empty_list_of_recipients_touches_nobody() -> None:
    said = read(recorded("ses", "bounce_undetermined_nobody"))

    assert said == Normalised(counted={Kind.SOFT_BOUNCE: 1})


@pytest.mark.parametrize("recipients", [None, [], {}, JANE, 5, True])
@pytest.mark.parametrize("name", ["bounce_permanent_general", "complaint"])
def test_the_destination_of_the_mail_never_stands_in_for_its_affected_recipients(name: str, recipients: object) -> None:
    path = {"complaint": "complaint.complainedRecipients"}.get(name, "bounce.bouncedRecipients")
    said = read(changed(name, path, recipients))

    assert (said.events, len(said.parked)) == ((), 1)


@pytest.mark.parametrize("name", ["send", "reject", "rendering_failure", "subscription"])
def test_an_event_without_a_list_of_recipients_is_counted_only(name: str) -> None:
    body = json.loads(recorded("ses", name))
    body["mail"]["destination"] = [JANE]

    assert read(json.dumps(body).encode()).events == ()


@pytest.mark.parametrize(
    "entry", [None, {}, 5, [JANE], {"emailAddress": None}, {"emailAddress": [JANE]}, "a@x.example, b@x.example"]
)
def test_an_entry_that_names_no_single_address_removes_nobody(entry: object) -> None:
    said = read(changed("bounce_permanent_general", "bounce.bouncedRecipients", [entry]))

    assert (said.events, len(said.parked)) == ((), 1)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("bounce_permanent_general", "bounce.bouncedRecipients"),
        ("complaint", "complaint.complainedRecipients"),
    ],
)
def test_an_address_that_stands_bare_where_ses_writes_objects_removes_nobody(name: str, path: str) -> None:
    said = read(changed(name, path, [JANE]))

    assert (said.events, len(said.parked)) == ((), 1)


def test_a_complaint_of_one_of_several_is_parked_for_an_operator_to_say_whose_it_is() -> None:
    said = read(recorded("ses", "complaint_two_recipients"))
    unaddressed = said.parked[0].unaddressed

    assert said.events == ()
    assert unaddressed is not None
    assert (unaddressed.kind, unaddressed.recipient) == (Kind.COMPLAINT, "")
    assert unaddressed.event_id == "ses:0102018f-feedback-2"


def test_a_complaint_of_one_of_several_removes_all_of_them_where_the_setting_says_so() -> None:
    said = read(recorded("ses", "complaint_two_recipients"), shared_complaint_removes=True)

    assert [(event.kind, event.recipient) for event in said.events] == [
        (Kind.COMPLAINT, JANE),
        (Kind.COMPLAINT, "jane.roe@example.com"),
    ]
    assert len({event.event_id for event in said.events}) == 2


@pytest.mark.parametrize("shared", [True, False])
def test_not_spam_never_removes(shared: bool) -> None:
    body = changed("complaint_not_spam", "complaint.complainedRecipients", [{"emailAddress": JANE}] * 2)
    said = read(body, shared_complaint_removes=shared)

    assert (said.events, said.parked, set(said.counted)) == ((), (), {Kind.OTHER})


@pytest.mark.parametrize("kind", [Kind.HARD_BOUNCE, Kind.REJECTED])
def test_whether_a_suppressed_bounce_is_hard_is_a_setting(kind: Kind) -> None:
    said = read(recorded("ses", "bounce_permanent_suppressed"), suppressed_is_hard=kind is Kind.HARD_BOUNCE)

    assert only_event(said).kind is kind


@pytest.mark.parametrize("name", ["bounce_permanent_general", "complaint"])
def test_event_type_and_notification_type_mean_the_same(name: str) -> None:
    body = json.loads(recorded("ses", name))
    spelt_old = {"notificationType": body["eventType"]} | {key: body[key] for key in body if key != "eventType"}
    with_both = body | {"notificationType": body["eventType"]}
    with_null = spelt_old | {"eventType": None}
    once = only_event(read(json.dumps(body).encode()))

    assert all(only_event(read(json.dumps(one).encode())) == once for one in (spelt_old, with_both, with_null))


def test_an_object_that_says_nothing_of_its_type_is_counted_and_one_like_a_bounce_is_parked() -> None:
    assert read(b'{"AlarmName":"made up"}') == Normalised(counted={Kind.OTHER: 1})
    assert read(b'{"bounce":{}}').parked[0].reason.startswith("neither")
    assert read(b'{"complaint":null}').parked[0].reason.startswith("neither")


@pytest.mark.parametrize("name", ["bounce_permanent_general", "complaint"])
def test_what_both_mechanisms_tell_is_the_same_event(name: str) -> None:
    as_event = only_event(notified(recorded("ses", name), "message-1"))
    as_notification = json.loads(recorded("ses", name))
    as_notification["notificationType"] = as_notification.pop("eventType")
    told_again = only_event(notified(json.dumps(as_notification).encode(), "message-2"))

    assert as_event.event_id == told_again.event_id


def test_without_a_feedback_id_the_message_id_which_is_the_same_in_retries_is_the_events() -> None:
    assert only_event(notified(recorded("ses", "delivery"), "message-7")).event_id == "ses:message-7"


@pytest.mark.parametrize("message_id", [None, "", [], {}, True])
def test_without_any_id_the_same_event_has_the_same_one_and_others_have_others(message_id: object) -> None:
    once, again = (only_event(notified(recorded("ses", "delivery"), message_id)) for _ in range(2))
    later = only_event(notified(changed("delivery", "delivery.timestamp", "2026-11-23T00:00:00Z"), message_id))

    assert once.event_id == again.event_id
    assert once.event_id != later.event_id
    assert once.event_id.startswith("ses:composite-")


def test_a_long_id_and_a_long_address_make_an_id_that_a_broker_takes() -> None:
    address = f"{'j' * 64}@{'.'.join(['d' * 60] * 4)}"
    body = json.loads(changed("bounce_two_recipients", "bounce.feedbackId", "f" * 190))
    body["bounce"]["bouncedRecipients"] = [{"emailAddress": address}, {"emailAddress": f"x{address[1:]}"}]
    ids = [event.event_id for event in read(json.dumps(body).encode()).events]

    assert len(set(ids)) == 2
    assert all(len(one) <= 205 for one in ids)


@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        ("2026-11-22T23:41:12.126Z", datetime(2026, 11, 22, 23, 41, 12, 126000, tzinfo=UTC)),
        (None, datetime(2026, 11, 22, 23, 41, 13, 1000, tzinfo=UTC)),
        ("yesterday", RECEIVED_AT),
        ("2030-01-01T00:00:00Z", RECEIVED_AT),
    ],
)
def test_the_time_is_the_events_own_or_that_of_the_envelope_and_never_that_of_the_mail(
    timestamp: object, expected: datetime
) -> None:
    assert only_event(notified(changed("complaint", "complaint.timestamp", timestamp))).occurred_at == expected


@pytest.mark.parametrize(
    "tags", [None, "x", [], {"mailward_env": "production"}, {"mailward_env": []}, {"mailward_env": ["a", "b"]}]
)
def test_odd_tags_are_as_good_as_none(tags: object) -> None:
    assert only_event(read(changed("bounce_permanent_general", "mail.tags", tags))).environment == ""


@pytest.mark.parametrize("message", ["", "{", "[1]", "null", "5", '"Bounce"', '{"a":NaN}', "[" * 100_000])
def test_a_message_that_cannot_be_read_is_parked(message: str) -> None:
    said = notified(message.encode())

    assert (said.events, len(said.parked), dict(said.counted)) == ((), 1, {})


def test_the_sentence_that_says_a_topic_was_validated_is_answered_and_no_more() -> None:
    assert notified(b" Successfully validated SNS topic for Amazon SES event publishing.\n") == Normalised()


def test_the_local_part_keeps_its_case_where_the_setting_says_so() -> None:
    body = changed("bounce_permanent_general", "bounce.bouncedRecipients", [{"emailAddress": "Jane.Doe@Example.com"}])

    assert only_event(read(body, keep_local_case=True)).recipient == "Jane.Doe@example.com"
    assert only_event(read(body)).recipient == JANE


def test_a_raw_message_is_read_once_its_credentials_are_right() -> None:
    guarded = provider(raw_credentials=(CREDENTIALS,))
    post = guarded.sign(recorded("ses", "complaint"), "message-1", SENT_AT)

    assert guarded.verify(Request(post.headers, post.body, SENT_AT)) == "1 of 1"
    assert only_event(guarded.normalise(Request(post.headers, post.body, SENT_AT))).kind is Kind.COMPLAINT


def test_a_raw_message_with_wrong_credentials_is_refused() -> None:
    wrong = Credentials(("sns:another-password-of-ours",)).sign(recorded("ses", "complaint"), "message-1", SENT_AT)
    with pytest.raises(ProofRefused, match=Refusal.BAD_CREDENTIALS):
        provider(raw_credentials=(CREDENTIALS,)).verify(Request(wrong.headers, wrong.body, SENT_AT))


def test_the_settings_reach_the_provider() -> None:
    environ = {
        "SES_TOPIC_ARNS": f"{TOPIC},{OTHER_TOPIC}",
        "SES_RAW_CREDENTIALS": CREDENTIALS,
        "SES_SUPPRESSED_IS_HARD": "false",
        "SES_SHARED_COMPLAINT_REMOVES": "true",
        "ADDRESS_KEEP_LOCAL_CASE": "true",
    }
    made = ses.make(load(environ), CertificateHost({}))
    assert made is not None
    raw = made.sign(
        changed("complaint", "complaint.complainedRecipients", [{"emailAddress": "Jane@example.com"}] * 2), "", SENT_AT
    )

    assert made.verify(Request(raw.headers, raw.body, SENT_AT)) == "1 of 1"
    assert [event.recipient for event in made.normalise(posted(raw.body)).events] == ["Jane@example.com"] * 2
    assert only_event(made.normalise(posted(recorded("ses", "bounce_permanent_suppressed")))).kind is Kind.REJECTED


def test_without_a_topic_the_provider_does_not_exist() -> None:
    assert ses.make(load({"SES_RAW_CREDENTIALS": CREDENTIALS}), CertificateHost({})) is None
