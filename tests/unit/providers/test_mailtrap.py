"""Mailtrap: what each event of a batch comes to, in either format, and what one broken item does to its neighbours."""

import json
from datetime import UTC, datetime

import pytest

from config.settings import load
from core.events import Event, Kind
from providers.base import Normalised, Provider, Request
from providers.mailtrap import ENTRY, mailtrap
from tests.unit.providers.payloads import PAYLOADS, RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import only_event
from tests.unit.providers.security_cases import SECRET, SecurityCases

JANE, JOHN = "jane.doe@example.com", "john@example.org"

# name -> the kinds and rules of its events, the indexes of its parked items, the kinds that are counted only
RECORDED: dict[str, tuple[list[tuple[Kind, str]], list[int], dict[Kind, int]]] = {
    "delivery": ([(Kind.DELIVERED, "mailtrap.delivery")], [], {}),
    "soft_bounce": ([(Kind.DEFERRED, "mailtrap.soft_bounce")], [], {}),
    "bounce_badrecipient": ([(Kind.HARD_BOUNCE, "mailtrap.bad_recipient")], [], {}),
    "bounce_hard": ([(Kind.HARD_BOUNCE, "mailtrap.bad_recipient")], [], {}),
    "bounce_overquota": ([(Kind.SOFT_BOUNCE, "mailtrap.other_bounce")], [], {}),
    "bounce_timeout": ([(Kind.SOFT_BOUNCE, "mailtrap.other_bounce")], [], {}),
    "bounce_spam": ([(Kind.SOFT_BOUNCE, "mailtrap.other_bounce")], [], {}),
    "bounce_content": ([(Kind.SOFT_BOUNCE, "mailtrap.other_bounce")], [], {}),
    "bounce_uncategorised_5_1_1": ([(Kind.HARD_BOUNCE, "mailtrap.uncategorised_bad_address")], [], {}),
    "bounce_uncategorised_address_of_a_host": ([(Kind.SOFT_BOUNCE, "mailtrap.other_bounce")], [], {}),
    "spam": ([(Kind.COMPLAINT, "mailtrap.spam")], [], {}),
    "unsubscribe": ([(Kind.UNSUBSCRIBED, "mailtrap.unsubscribe")], [], {}),
    "reject": ([(Kind.REJECTED, "mailtrap.not_attempted")], [], {}),
    "suspension": ([(Kind.REJECTED, "mailtrap.not_attempted")], [], {}),
    "null_fields": ([(Kind.COMPLAINT, "mailtrap.spam")], [], {}),
    "without_event_id": ([(Kind.COMPLAINT, "mailtrap.spam")], [], {}),
    "bare_event": ([(Kind.COMPLAINT, "mailtrap.spam")], [], {}),
    "open": ([], [], {Kind.OTHER: 1}),
    "click": ([], [], {Kind.OTHER: 1}),
    "activity_log": ([], [], {Kind.OTHER: 1}),
    "unknown_event": ([], [], {Kind.OTHER: 1}),
    "without_email": ([], [0], {}),
    "empty_batch": ([], [], {}),
    "batch": ([(Kind.COMPLAINT, "mailtrap.spam"), (Kind.DELIVERED, "mailtrap.delivery")], [], {Kind.OTHER: 1}),
    "batch_with_broken_items": (
        [(Kind.COMPLAINT, "mailtrap.spam"), (Kind.HARD_BOUNCE, "mailtrap.bad_recipient")],
        [1, 2],
        {},
    ),
}


class TestSecurity(SecurityCases):
    name = "mailtrap"
    signature_header = "mailtrap-signature"
    secret = "0123456789abcdef0123456789abcdef"
    next_secret = "fedcba9876543210fedcba9876543210"
    window_s = None
    future_s = None
    kinds_never_told = frozenset({Kind.ACCEPTED})

    def make(self, *secrets: str) -> Provider:
        return mailtrap(secrets)


def read(body: bytes, *, content_type: str = "application/json") -> Normalised:
    return mailtrap((SECRET,)).normalise(Request({"content-type": content_type}, body, RECEIVED_AT))


def lines(name: str) -> bytes:
    return (PAYLOADS / "mailtrap" / f"{name}.jsonl").read_bytes()


def said_of(**fields: object) -> Normalised:
    event = json.loads(recorded("mailtrap", "spam"))["events"][0]
    return read(json.dumps({"events": [event | fields]}).encode())


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("mailtrap") == set(RECORDED)


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(
    name: str, expected: tuple[list[tuple[Kind, str]], list[int], dict[Kind, int]]
) -> None:
    said = read(recorded("mailtrap", name))

    assert [(event.kind, event.rule) for event in said.events] == expected[0]
    assert [item.index for item in said.parked] == expected[1]
    assert dict(said.counted) == expected[2]


def test_an_event_carries_all_that_is_known() -> None:
    assert only_event(read(recorded("mailtrap", "bounce_badrecipient"))) == Event(
        event_id="mailtrap:00000000-0000-4000-8000-000000000001",
        provider="mailtrap",
        kind=Kind.HARD_BOUNCE,
        recipient=JANE,
        recipient_verbatim=JANE,
        occurred_at=datetime(2026, 11, 22, 23, 41, 12, tzinfo=UTC),
        received_at=RECEIVED_AT,
        rule="mailtrap.bad_recipient",
        provider_message_id="00000000-0000-4000-8000-0000000000aa",
        campaign_id="spring-2026",
        recipient_id="r_000042",
        environment="production",
        detail="badrecipient; 550; bounced (550 5.1.1 no such user)",
    )


@pytest.mark.parametrize("content_type", ["application/jsonl", "application/json", "text/plain", ""])
def test_json_lines_say_the_same_as_a_batch_whatever_the_content_type(content_type: str) -> None:
    assert read(lines("batch"), content_type=content_type) == read(recorded("mailtrap", "batch"))


@pytest.mark.parametrize("name", ["batch", "empty_batch", "bare_event"])
def test_a_json_object_is_read_as_one_though_the_content_type_says_json_lines(name: str) -> None:
    assert read(recorded("mailtrap", name), content_type="application/jsonl") == read(recorded("mailtrap", name))


def test_a_broken_line_is_parked_alone() -> None:
    said = read(lines("batch_with_broken_lines"))

    assert [event.recipient for event in said.events] == [JANE, JOHN]
    assert said.indexes == (0, 3)
    assert [item.index for item in said.parked] == [1, 2]


def test_a_line_that_is_no_text_is_parked_alone() -> None:
    first, second, third = lines("batch").splitlines()
    said = read(b"\n".join([first, b'{"event":"\xff"}', second, third]))

    assert (said.indexes, [item.index for item in said.parked]) == ((0, 2), [1])


def test_events_of_one_batch_have_ids_of_their_own() -> None:
    assert [event.event_id[-1] for event in read(recorded("mailtrap", "batch_with_broken_items")).events] == ["1", "4"]


def test_without_an_event_id_an_event_gets_one_that_repeats() -> None:
    once, again = (only_event(said_of(event_id=None)).event_id for _ in range(2))
    others = {only_event(said_of(event_id=None, email=JOHN)).event_id, only_event(said_of(event_id=None, timestamp=1))}

    assert once == again
    assert once not in others


@pytest.mark.parametrize("email", [None, "", 5, [JANE], f"{JANE}, {JOHN}"])
def test_a_removal_that_names_no_single_recipient_is_parked(email: object) -> None:
    said = said_of(email=email)

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


@pytest.mark.parametrize("variables", [None, [], "text", 5, {"mailward_campaign": 5}])
def test_odd_custom_variables_are_nobodys_tags(variables: object) -> None:
    assert only_event(said_of(custom_variables=variables)).campaign_id == ""


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"5", b"null", b"one\ntwo", b'{"events": "x"}', b'{"events": {}}', b"\xff\xfe\n\xff"]
)
def test_a_body_that_cannot_be_read_is_parked_whole(body: bytes) -> None:
    said = read(body)

    assert (said.events, [item.index for item in said.parked], dict(said.counted)) == ((), [-1], {})


@pytest.mark.parametrize("body", [b'{"events": []}', b'{"events": null}', b"[]"])
def test_an_empty_batch_needs_no_work(body: bytes) -> None:
    assert read(body) == Normalised()


def test_a_full_batch_of_500_events_is_read_whole() -> None:
    event = json.loads(recorded("mailtrap", "spam"))["events"][0]
    batch = [event | {"event_id": f"e{n}", "email": f"user{n}@example.com"} for n in range(500)]
    said = mailtrap((SECRET,)).normalise(posted(json.dumps({"events": batch}).encode()))

    assert len({event.event_id for event in said.events}) == 500


def test_the_settings_make_it() -> None:
    assert ENTRY.make(load({}), lambda _: b"") is None
    assert ENTRY.make(load({"MAILTRAP_WEBHOOK_SECRETS": SECRET}), lambda _: b"") is not None
