"""The table of Resend's answers: every documented one, the drifting ones, and the defaults of each class."""

import json
from datetime import UTC, datetime

import pytest

from core.ledger.states import Happening
from sender.clients import resend_answers
from sender.clients.base import Answer, Rate
from sender.clients.resend_answers import Pause

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
MAILS = 5


def read(status: int, content: object = None, headers: dict[str, str] | None = None, whole: bool = True) -> Answer:
    body = content if isinstance(content, bytes) else json.dumps(content or {}).encode()
    return resend_answers.read(status, headers or {}, body, whole, MAILS, NOW)


def error(name: str, message: str = "", **more: object) -> dict[str, object]:
    return {"statusCode": 0, "name": name, "message": message, **more}


IDS = [f"id-{number}" for number in range(MAILS)]


def test_a_success_with_an_id_for_each_mail_is_accepted_in_order() -> None:
    answer = read(200, {"data": [{"id": one} for one in IDS]})

    assert (answer.happening, answer.ids, answer.pause) == (Happening.ACCEPTED, tuple(IDS), "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"[1]",
        b"[" * 100_000,
        {"data": None},
        {"data": []},
        {"data": [{"id": one} for one in IDS[:-1]]},
        {"data": [{"id": one} for one in [*IDS, "one-more"]]},
        {"data": [{"id": IDS[0]}] * MAILS},
        {"data": [*({"id": one} for one in IDS[:-1]), {"id": ""}]},
        {"data": [*({"id": one} for one in IDS[:-1]), {"id": 5}]},
        {"data": [*({"id": one} for one in IDS[:-1]), "id-4"]},
    ],
)
def test_a_success_that_does_not_name_every_mail_is_ambiguous(content: object) -> None:
    answer = read(200, content)

    assert (answer.happening, answer.ids, answer.status) == (Happening.AMBIGUOUS, (), 200)


def test_a_success_that_broke_off_is_ambiguous_even_if_it_reads_well() -> None:
    assert read(200, {"data": [{"id": one} for one in IDS]}, whole=False).happening is Happening.AMBIGUOUS


@pytest.mark.parametrize(
    ("status", "name", "happening", "pause"),
    [
        (429, "rate_limit_exceeded", Happening.NOT_SENT, Pause.NONE),
        (429, "", Happening.NOT_SENT, Pause.NONE),
        (429, "daily_quota_exceeded", Happening.NOT_SENT, Pause.DAILY_QUOTA),
        (429, "monthly_quota_exceeded", Happening.NOT_SENT, Pause.MONTHLY_QUOTA),
        (401, "missing_api_key", Happening.NOT_SENT, Pause.CREDENTIALS),
        (401, "restricted_api_key", Happening.NOT_SENT, Pause.CREDENTIALS),
        (401, "validation_error", Happening.NOT_SENT, Pause.CREDENTIALS),
        (403, "validation_error", Happening.NOT_SENT, Pause.CREDENTIALS),
        (403, "suspended_api_key", Happening.NOT_SENT, Pause.CREDENTIALS),
        (403, "invalid_api_key", Happening.NOT_SENT, Pause.CREDENTIALS),
        (403, "invalid_permission", Happening.NOT_SENT, Pause.CREDENTIALS),
        (409, "concurrent_idempotent_requests", Happening.RUNNING_ELSEWHERE, Pause.NONE),
        (409, "resource_locked", Happening.RUNNING_ELSEWHERE, Pause.NONE),
        (409, "something_new", Happening.RUNNING_ELSEWHERE, Pause.NONE),
        (409, "invalid_idempotent_request", Happening.KEY_TAKEN, Pause.NONE),
        (400, "invalid_idempotency_key", Happening.REJECTED_FOR_ALL, Pause.OUR_REQUEST),
        (400, "validation_error", Happening.REJECTED, Pause.NONE),
        (422, "validation_error", Happening.REJECTED, Pause.NONE),
        (422, "something_new", Happening.REJECTED, Pause.NONE),
        (422, "missing_required_field", Happening.REJECTED_FOR_ALL, Pause.OUR_REQUEST),
        (422, "invalid_parameter", Happening.REJECTED_FOR_ALL, Pause.OUR_REQUEST),
        (422, "invalid_from_address", Happening.REJECTED_FOR_ALL, Pause.SENDER),
        (422, "invalid_attachment", Happening.REJECTED_FOR_ALL, Pause.CONTENT),
        (422, "invalid_access", Happening.REJECTED_FOR_ALL, Pause.OUR_REQUEST),
        (422, "invalid_region", Happening.REJECTED_FOR_ALL, Pause.OUR_REQUEST),
        (404, "not_found", Happening.NOT_SENT, Pause.REFUSED),
        (405, "method_not_allowed", Happening.NOT_SENT, Pause.REFUSED),
        (413, "", Happening.NOT_SENT, Pause.REFUSED),
        (451, "security_error", Happening.NOT_SENT, Pause.REFUSED),
        (418, "", Happening.NOT_SENT, Pause.REFUSED),
        (301, "", Happening.NOT_SENT, Pause.REFUSED),
        (308, "", Happening.NOT_SENT, Pause.REFUSED),
        (408, "", Happening.AMBIGUOUS, Pause.NONE),
        (425, "", Happening.AMBIGUOUS, Pause.NONE),
        (499, "", Happening.AMBIGUOUS, Pause.NONE),
        (500, "application_error", Happening.AMBIGUOUS, Pause.NONE),
        (500, "internal_server_error", Happening.AMBIGUOUS, Pause.NONE),
        (502, "", Happening.AMBIGUOUS, Pause.NONE),
        (503, "service_unavailable", Happening.AMBIGUOUS, Pause.NONE),
        (504, "", Happening.AMBIGUOUS, Pause.NONE),
        (599, "", Happening.AMBIGUOUS, Pause.NONE),
    ],
)
def test_an_error_is_what_its_status_and_name_say(status: int, name: str, happening: Happening, pause: Pause) -> None:
    answer = read(status, error(name))

    assert (answer.status, answer.happening, answer.pause) == (status, happening, pause)
    assert (answer.ids, answer.culprits) == ((), ())


@pytest.mark.parametrize("name", ["rate_limit_exceeded", "concurrent_idempotent_requests", "invalid_api_key"])
@pytest.mark.parametrize("status", [500, 503])
def test_a_name_never_turns_a_server_error_into_proof(status: int, name: str) -> None:
    assert read(status, error(name)).happening is Happening.AMBIGUOUS


@pytest.mark.parametrize(
    ("status", "happening"),
    [
        (422, Happening.REJECTED),
        (401, Happening.NOT_SENT),
        (429, Happening.NOT_SENT),
        (500, Happening.AMBIGUOUS),
        (502, Happening.AMBIGUOUS),
    ],
)
@pytest.mark.parametrize("body", [b"", b"<html>bad gateway</html>", b"null", b"\xff\xfe"])
def test_an_error_without_a_readable_body_is_judged_by_its_status(
    status: int, happening: Happening, body: bytes
) -> None:
    answer = read(status, body)

    assert (answer.happening, answer.error) == (happening, "unnamed")


@pytest.mark.parametrize(
    ("message", "culprits"),
    [
        ("Invalid `to` field. The email address needs to follow the `email@example.com` format.", ()),
        ("emails[3].to: not an address", (3,)),
        ("`emails[3].to[0]` is not an address", (3,)),
        ("[1].to: must be a valid email, [4].to: must be a valid email", (1, 4)),
        ("The recipient at index 2 is not valid", (2,)),
        ("3.to is not an address", (3,)),
        ("emails.0.to is not an address", (0,)),
        ("emails[7].to: not an address", ()),
        ("emails[2] is not valid", (2,)),
        ("The domain of the recipient does not exist", ()),
    ],
)
def test_a_refusal_because_of_recipients_names_those_it_can(message: str, culprits: tuple[int, ...]) -> None:
    answer = read(422, error("validation_error", message))

    assert (answer.happening, answer.culprits, answer.pause) == (Happening.REJECTED, culprits, "")


def test_a_refusal_with_a_list_of_errors_names_their_mails() -> None:
    listed = [{"index": 4, "message": "Invalid `to` field."}, {"index": 1, "message": "Invalid `to` field."}, "odd", {}]

    assert read(422, error("validation_error", errors=listed)).culprits == (1, 4)


def test_a_refusal_that_names_every_mail_names_none() -> None:
    listed = [{"index": number, "message": "not valid"} for number in range(MAILS)]
    answer = read(422, error("validation_error", errors=listed))

    assert (answer.happening, answer.culprits) == (Happening.REJECTED, ())


@pytest.mark.parametrize(
    ("message", "pause"),
    [
        ("Invalid `from` field. The email address needs to follow the `email@example.com` format.", Pause.SENDER),
        ("emails[3].from: not an address", Pause.SENDER),
        ("Invalid `reply_to` field.", Pause.SENDER),
        ("The example.org domain is not verified.", Pause.SENDER),
        ("Missing `subject` field.", Pause.SUBJECT),
        ("Missing `html` or `text` field.", Pause.CONTENT),
        ("emails[0].tags[2].name: only letters, digits, underscores and dashes", Pause.CONTENT),
        ("Tags should only contain ASCII letters, numbers, underscores, or dashes.", Pause.CONTENT),
        ("The attachments are too large", Pause.CONTENT),
        ("The template does not exist", Pause.CONTENT),
        ("Missing `to` or `from` field.", Pause.SENDER),
        ("The idempotency key is not valid", Pause.OUR_REQUEST),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_refusal_because_of_the_campaign_pauses_and_blames_nobody(status: int, message: str, pause: Pause) -> None:
    answer = read(status, error("validation_error", message))

    assert (answer.happening, answer.pause, answer.culprits) == (Happening.REJECTED_FOR_ALL, pause, ())


def test_a_refused_api_key_is_a_matter_of_credentials_under_400_too() -> None:
    answer = read(400, error("validation_error", "API key is invalid"))

    assert (answer.happening, answer.pause) == (Happening.NOT_SENT, Pause.CREDENTIALS)


@pytest.mark.parametrize(
    ("headers", "rate"),
    [
        ({}, Rate()),
        (
            {"RateLimit-Limit": "2", "RateLimit-Remaining": "1", "RateLimit-Reset": "1", "Retry-After": "3"},
            Rate(2.0, 1, 1.0, 3.0),
        ),
        ({"ratelimit-limit": "10, 10;w=5"}, Rate(limit=2.0)),
        ({"ratelimit-limit": "10;w=0"}, Rate()),
        ({"retry-after": "0.5"}, Rate(retry_after_s=0.5)),
        ({"retry-after": "Sun, 29 Nov 2026 12:00:30 GMT"}, Rate(retry_after_s=30.0)),
        ({"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, Rate(retry_after_s=0.0)),
        (
            {"retry-after": "Sun, 29 Nov 2026 13:00:30 GMT", "date": "Sun, 29 Nov 2026 13:00:00 GMT"},
            Rate(retry_after_s=30.0),
        ),
        ({"retry-after": "soon", "ratelimit-limit": "many", "ratelimit-reset": "-1"}, Rate()),
        ({"retry-after": "nan", "ratelimit-limit": "inf", "ratelimit-remaining": ""}, Rate()),
        ({"retry-after": "99999999999"}, Rate()),
        ({"retry-after": "Sun, 29 Nov 2076 12:00:30 GMT"}, Rate()),
    ],
)
def test_the_headers_tell_the_rate(headers: dict[str, str], rate: Rate) -> None:
    assert read(429, error("rate_limit_exceeded"), headers).rate == rate
