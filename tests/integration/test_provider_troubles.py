"""Troubles that other people's webhook handlers ran into: the posts that caused them, and who is left in the store."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from core.errors import Permanent
from core.events import Event, Kind
from core.tables import to_us
from providers import registry
from tests.letters import die, ready_command_line
from tests.unit.providers.security_cases import SENT_AT
from tests.unit.providers.sns_cases import SnsSecurityCases
from tests.unit.providers.test_every_provider import security_cases
from tests.whole_path import NOW, WholePath

A, B, C = "a@example.com", "b@example.com", "c@example.com"
HAPPENED = "2026-11-22T23:41:12.000Z"
HAPPENED_S = 1795390872


def ses() -> SnsSecurityCases:
    case = security_cases()["ses"]()
    assert isinstance(case, SnsSecurityCases)
    return case


def ses_bounce(*recipients: str, kind: str = "Permanent", sub: str = "General", key: str = "notificationType") -> Any:
    bounced = [{"emailAddress": one} for one in recipients]
    bounce = {"bounceType": kind, "bounceSubType": sub, "bouncedRecipients": bounced, "timestamp": HAPPENED}
    mail = {"messageId": "m", "destination": [A, B, C]}
    return {key: "Bounce", "bounce": bounce | {"feedbackId": f"f-{sub}-{len(recipients)}"}, "mail": mail}


def ses_complaint(key: str = "eventType", **complaint: Any) -> Any:
    whole = {"complainedRecipients": [{"emailAddress": A}], "timestamp": HAPPENED, "feedbackId": "f1"} | complaint
    return {key: "Complaint", "complaint": whole, "mail": {"messageId": "m", "destination": [A]}}


def resend(kind: str, to: Any, **data: Any) -> Any:
    return {"type": f"email.{kind}", "created_at": HAPPENED, "data": {"email_id": "e", "to": to} | data}


def cloudflare(kind: str, **payload: Any) -> Any:
    return {
        "type": f"cf.email.sending.message.{kind}",
        "source": {"domain": "mail.example.org"},
        "payload": {"recipient": A} | payload,
        "metadata": {"accountId": "account-1", "eventTimestamp": HAPPENED},
    }


HARD = {"bounce": {"type": "Permanent", "subType": "General", "message": "x"}}


# --- what removes and what does not ---


COMPLAINED = [name for name, case in sorted(security_cases().items()) if Kind.COMPLAINT not in case.kinds_never_told]


@pytest.mark.parametrize("name", COMPLAINED)
def test_the_first_complaint_removes_at_once_whoever_tells_it(path: WholePath, name: str) -> None:
    path.system.put([A, B])

    came_to = path.come_to(name, path.providers[name].sample(Kind.COMPLAINT, A, "mail-1", SENT_AT))

    assert came_to == {"removed": 1}
    assert path.left(A, B) == [B]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("ses", ses_bounce(A, kind="Transient", sub="MailboxFull")),
        ("ses", ses_bounce(A, kind="Transient")),
        ("ses", ses_bounce(A, kind="Undetermined", sub="Undetermined")),
        ("ses", ses_bounce(kind="Undetermined", sub="Undetermined")),
        ("ses", ses_complaint(complaintFeedbackType="not-spam")),
        ("ses", ses_complaint(complaintSubType="OnAccountSuppressionList")),
        ("postmark", {"RecordType": "Bounce", "Type": "AutoResponder", "TypeCode": 32, "Email": A, "Inactive": False}),
        ("postmark", {"RecordType": "SubscriptionChange", "Recipient": A, "SuppressSending": False}),
        ("postmark", {"RecordType": "SubscriptionChange", "Recipient": A, "SuppressionReason": "HardBounce"}),
        ("mailgun", {"event-data": {"event": "failed", "severity": "temporary", "recipient": A, "id": "g"}}),
        (
            "mailgun",
            {
                "event-data": {
                    "event": "failed", "severity": "permanent", "reason": "suppress-bounce", "recipient": A, "id": "g",
                    "delivery-status": {"code": 605},
                }
            },
        ),
        ("resend", resend("bounced", [A])),
        ("cloudflare", cloudflare("bounced", bounce={})),
        ("brevo", {"event": "soft_bounce", "email": A, "ts_event": HAPPENED_S}),
        ("mailjet", {"event": "bounce", "time": HAPPENED_S, "email": A, "hard_bounce": False}),
    ],
    ids=lambda value: value if isinstance(value, str | int) else "",
)  # fmt: skip
def test_what_is_no_evidence_against_the_address_removes_nobody_however_often_it_comes(
    path: WholePath, name: str, body: Any
) -> None:
    path.system.put([A, B, C])

    for number in range(20):
        assert path.post(name, body, f"msg_{number}").status_code == 200
    came_to = path.work_off()

    assert came_to in ({"ignored": 20}, {})  # heard and kept, or only counted
    assert path.parked() == []
    assert path.left(A, B, C) == [A, B, C]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("ses", ses_complaint(complaintFeedbackType="something-new")),
        ("ses", ses_complaint(complaintFeedbackType=None)),
        ("ses", ses_complaint("notificationType", complaintSubType=None)),
        ("ses", ses_bounce(A, sub="NoEmail", key="eventType")),
        ("ses", ses_bounce(f"<{A}>", sub="NoEmail")),
        ("postmark", {"RecordType": "SpamComplaint", "Type": "SpamComplaint", "TypeCode": 512, "Email": A, "ID": 42}),
        ("postmark", {"RecordType": "Bounce", "Type": "SpamComplaint", "TypeCode": 512, "Email": A, "ID": 42}),
        (
            "postmark",
            {
                "RecordType": "SubscriptionChange", "Recipient": A, "SuppressSending": True,
                "SuppressionReason": "HardBounce", "ChangedAt": HAPPENED,
            },
        ),
        (
            "mailgun",
            {
                "event-data": {
                    "event": "failed", "severity": "permanent", "reason": "bounce", "recipient": A, "id": "g",
                    "delivery-status": None, "timestamp": HAPPENED_S + 0.5,
                }
            },
        ),
        ("mailjet", {"event": "bounce", "time": HAPPENED_S, "email": A, "hard_bounce": True, "error": "user unknown"}),
        ("brevo", {"event": "complaint", "email": A, "ts_event": HAPPENED_S, "message-id": "<x@example.com>"}),
        ("resend", resend("bounced", ['"Doe, Jane" <A@example.com>'], **HARD)),
        ("resend", resend("bounced", A, **HARD)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_evidence_against_the_address_removes_it_in_whatever_shape_it_comes(
    path: WholePath, name: str, body: Any
) -> None:
    path.system.put([A, B, C])

    assert path.come_to(name, body) == {"removed": 1}
    assert path.left(A, B, C) == [B, C]


def test_a_senders_place_on_a_blocklist_removes_none_of_a_thousand_readers(path: WholePath) -> None:
    people = [f"reader{number:03}@example.com" for number in range(1000)]
    path.system.put(people)
    batch = [
        {
            "email": one, "event": "bounce", "type": "blocked", "status": "5.7.1", "sg_event_id": f"e{number}",
            "bounce_classification": "Reputation", "reason": "550 5.7.1 203.0.113.7 is on a block list",
            "timestamp": HAPPENED_S,
        }
        for number, one in enumerate(people)
    ]  # fmt: skip

    assert path.come_to("sendgrid", batch) == {"ignored": 1000}
    assert path.left(*people) == people
    assert path.system.rows("SELECT 1 FROM journal") == []


# --- whom an event concerns ---


def test_of_a_mail_to_three_only_the_one_that_bounced_is_removed(path: WholePath) -> None:
    path.system.put([A, B, C])

    assert path.come_to("ses", ses_bounce(B, sub="NoEmail")) == {"removed": 1}
    assert path.left(A, B, C) == [A, C]


@pytest.mark.parametrize(
    "written", ["reader@example.com", "READER@EXAMPLE.COM", " reader@example.com \n", "Reader <reader@Example.Com>"]
)
@pytest.mark.parametrize("stored", ["Reader@Example.COM", "reader@example.com"])
def test_an_address_is_found_however_list_and_report_write_it(path: WholePath, stored: str, written: str) -> None:
    mailward = ready_command_line(path.system)
    mailward.out("recipients", "import", "-", "--format", "ndjson", stdin=json.dumps({"address": stored}).encode())
    assert path.left("reader@example.com") == ["reader@example.com"]

    assert path.come_to("resend", resend("bounced", [written], **HARD)) == {"removed": 1}
    assert path.left("reader@example.com") == []


@pytest.mark.parametrize("to", [[f"{A}, {B}"], [A, B], f"{A}; {B}", ["not an address"]])
def test_a_removal_that_names_no_single_address_is_kept_for_an_operator_and_never_done(
    path: WholePath, to: object
) -> None:
    path.system.put([A, B])

    assert path.come_to("resend", resend("bounced", to, **HARD)) == {}
    (letter,) = path.parked()
    assert json.loads(letter.body)["data"]["to"] == to
    assert path.left(A, B) == [A, B]


# --- repeats ---


def test_one_complaint_told_in_both_formats_of_ses_has_one_effect(path: WholePath) -> None:
    path.system.put([A])

    assert path.come_to("ses", ses_complaint("eventType"), "sns-1") == {"removed": 1}
    path.system.put([A], b"signed up again")
    assert path.come_to("ses", ses_complaint("notificationType", complaintSubType=None), "sns-2") == {"duplicate": 1}
    assert path.left(A) == [A]


def test_two_bounces_that_mailgun_posts_four_times_each_count_as_two(path: WholePath) -> None:
    path.system.put([A, B])
    for turn in range(4):
        for address in (A, B):
            failed = {"event": "failed", "severity": "permanent", "reason": "bounce", "id": f"of {address}"}
            body = {"event-data": failed | {"recipient": address, "timestamp": HAPPENED_S}}
            assert path.post("mailgun", body, f"attempt-{turn}-{address}").status_code == 200

    assert path.work_off() == {"removed": 2, "duplicate": 6}
    assert len(path.system.rows("SELECT 1 FROM journal")) == 2


def test_what_is_queued_says_all_that_a_consumer_needs_to_know_a_repeat(path: WholePath) -> None:
    path.post("resend", resend("complained", [A]), "msg_1")
    path.post("resend", resend("complained", [A]), "msg_1")
    path.post("resend", resend("complained", [A]), "msg_resent_by_hand")

    events = path.arrived()
    assert [(one.provider, one.event_id, one.kind, one.provider_message_id, one.received_at) for one in events] == [
        ("resend", f"resend:{message_id}", Kind.COMPLAINT, "e", NOW)
        for message_id in ("msg_1", "msg_1", "msg_resent_by_hand")
    ]


def test_an_event_that_a_worker_forwards_twice_without_an_id_of_its_own_has_one_effect(path: WholePath) -> None:
    body = cloudflare("complained")
    path.system.put([A])

    assert path.come_to("cloudflare", body, "msg_1") == {"removed": 1}
    path.system.put([A], b"signed up again")
    assert path.come_to("cloudflare", body, "msg_1") == {"duplicate": 1}
    assert path.come_to("cloudflare", cloudflare("invented"), "msg_2") == {}
    assert path.left(A) == [A]


# --- late and repeated events against what an operator has done ---


def day(number: int) -> datetime:
    """Noon of a day of the story."""
    return SENT_AT + timedelta(days=number)


def hard_bounce(at: datetime, event_id: str = "ses:f1") -> Event:
    return Event(event_id, "ses", Kind.HARD_BOUNCE, A, A, at, at + timedelta(seconds=1), "test.rule")


@pytest.mark.parametrize("how", ["the provider repeats it", "an operator replays its dead letter"])
@pytest.mark.parametrize("kind", [Kind.HARD_BOUNCE, Kind.COMPLAINT])
def test_an_event_of_the_first_day_does_not_remove_who_signed_up_again_on_the_second(
    path: WholePath, how: str, kind: Kind
) -> None:
    old = Event("ses:f1", "ses", kind, A, A, day(1), day(1), "test.rule")
    record = json.dumps({"eligible_since": day(2).isoformat()}).encode()
    path.now = day(3)
    if how == "the provider repeats it":
        path.system.put([A])
        assert path.apply(old) == {"removed": 1}
        path.system.put([A], record)
        assert path.apply(old) == {"duplicate": 1}
        again = Event("ses:told-anew", "ses", kind, A, A, day(1), day(3), "test.rule")
        assert path.apply(again) == {"stale": 1}
    else:
        die(path.system, [old])
        path.system.put([A], record)
        assert "replayed 1 of 1" in ready_command_line(path.system).out("dlq", "replay", "--all", "--yes")
        assert path.work_off() == {"stale": 1}

    assert path.system.record(A) == record
    assert path.apply(hard_bounce(day(2) + timedelta(hours=1), "ses:new evidence")) == {"removed": 1}


def test_an_event_that_comes_late_does_not_undo_what_an_operator_put_back(path: WholePath) -> None:
    mailward = ready_command_line(path.system)
    path.system.put([A], b"as it was")
    path.now = day(-1)
    assert path.apply(hard_bounce(day(-2))) == {"removed": 1}
    mailward.out("recipients", "restore", A)

    assert path.apply(hard_bounce(day(-2))) == {"duplicate": 1}
    assert path.apply(hard_bounce(day(-3), "ses:even older"), hard_bounce(day(-2), "ses:again")) == {"stale": 2}
    assert path.system.record(A) == b"as it was"


@pytest.mark.parametrize("kind", Kind)
def test_no_event_puts_back_whom_an_operator_took_off(path: WholePath, kind: Kind) -> None:
    mailward = ready_command_line(path.system)
    mailward.out("recipients", "add", A)
    mailward.out("recipients", "delete", A)

    path.apply(Event("resend:late", "resend", kind, A, A, day(-1), day(0), "test.rule"))

    assert path.left(A) == []


def test_moving_a_record_for_another_reason_makes_no_old_event_new(path: WholePath) -> None:
    """The fence is when consent was given, not when the record was last written."""
    path.system.put([A], json.dumps({"eligible_since": day(-9).isoformat(), "plan": "free"}).encode())
    path.system.put([A], json.dumps({"eligible_since": day(-9).isoformat(), "plan": "paid"}).encode())

    assert path.apply(hard_bounce(day(-8))) == {"removed": 1}
    assert to_us(day(-8)) == path.system.rows("SELECT occurred_at FROM journal")[0].occurred_at


# --- proofs ---


@pytest.mark.parametrize("name", registry.known_names())
def test_bytes_that_are_no_text_are_401_without_their_proof_and_parked_with_it(path: WholePath, name: str) -> None:
    body = security_cases()[name]().unreadable()

    assert path.post_as_it_is(name, body).status_code == 401
    assert (path.arrived(), path.parked()) == ([], [])
    try:
        answer = path.post(name, body)
    except ValueError:  # a proof that stands in the body cannot be put into one that is no text
        return
    assert (answer.status_code, answer.json) == (200, {"queued": 0, "parked": 1, "counted": 0})
    assert len(path.parked()) == 1


@pytest.mark.parametrize("credentials", ["", ":"])
@pytest.mark.parametrize("name", ["brevo", "postmark", "mailjet", "sparkpost"])
def test_no_empty_credentials_report_a_bounce(path: WholePath, name: str, credentials: str) -> None:
    path.system.put([A])
    body = path.providers[name].sample(Kind.HARD_BOUNCE, A, "m", SENT_AT)
    basic = base64.b64encode(credentials.encode()).decode()

    assert path.post_as_it_is(name, body, {"Authorization": f"Basic {basic}"}).status_code == 401
    assert path.work_off() == {}
    assert path.left(A) == [A]


def test_a_well_signed_bounce_of_somebody_elses_topic_removes_nobody(path: WholePath) -> None:
    path.system.put([A])
    message = json.dumps(ses_bounce(A))

    assert path.post_as_it_is("ses", ses().sealed("Notification", Message=message)).status_code == 200
    assert path.work_off() == {"removed": 1}  # so much for our own topic
    path.system.put([A])
    foreign = ses().sealed("Notification", Message=message, TopicArn=ses().foreign_topic)
    assert path.post_as_it_is("ses", foreign).status_code == 401

    assert path.work_off() == {}
    assert path.left(A) == [A]


def test_a_proven_subscription_is_confirmed_once_whatever_the_content_type(path: WholePath) -> None:
    body = ses().sealed("SubscriptionConfirmation")
    for headers in ({"Content-Type": "text/plain; charset=UTF-8"}, {"Content-Type": ""}):
        assert path.post_as_it_is("ses", body, headers).status_code == 200

    assert [url.split("?")[0] for url in path.fetched] == [ses().api] * 2
    assert (path.arrived(), path.parked()) == ([], [])


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:1/"])
def test_nothing_is_called_for_a_subscription_that_is_not_proven(path: WholePath, url: str) -> None:
    topic = ses().secret
    forged: Mapping[str, str] = {
        "Type": "SubscriptionConfirmation", "SubscribeURL": url, "TopicArn": topic, "Token": "t", "MessageId": "m",
        "Timestamp": "2026-11-29T12:00:00.000Z", "Message": "x", "SignatureVersion": "1", "Signature": "AA==",
        "SigningCertURL": f"{ses().api}x.pem",
    }  # fmt: skip
    genuine = json.loads(ses().sealed("SubscriptionConfirmation"))

    for body in (forged, genuine | {"SubscribeURL": url}, genuine | {"Signature": "AA=="}):
        assert path.post_as_it_is("ses", json.dumps(body).encode()).status_code == 401
    assert path.fetched == []


@pytest.mark.parametrize("later", [timedelta(minutes=1), timedelta(days=1)])
def test_a_mailgun_proof_under_another_event_has_no_effect_however_soon(path: WholePath, later: timedelta) -> None:
    path.system.put([A, B])
    post = path.providers["mailgun"].sign(
        path.providers["mailgun"].sample(Kind.COMPLAINT, A, "m", SENT_AT), "m", SENT_AT
    )
    assert path.post_as_it_is("mailgun", post.body, post.headers).status_code == 200
    assert path.work_off() == {"removed": 1}

    path.now += later
    forged = path.post_as_it_is("mailgun", post.body.replace(A.encode(), B.encode()), post.headers)

    if later < timedelta(hours=12):
        assert forged.status_code == 200  # nothing that the proof covers is wrong
        with pytest.raises(Permanent, match="reused_proof"):
            path.work_off()
    else:
        assert (forged.status_code, path.work_off()) == (401, {})
    assert path.left(A, B) == [B]
