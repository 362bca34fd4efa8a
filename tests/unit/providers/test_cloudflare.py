"""Cloudflare Email Sending: what each forwarded event comes to, and whose events are believed."""

import pytest

from core.events import Kind
from providers.base import Normalised
from providers.cloudflare import Cloudflare
from tests.unit.providers import reading
from tests.unit.providers.payloads import RECEIVED_AT, names, posted, recorded
from tests.unit.providers.reading import JANE, only_event
from tests.unit.providers.security_cases import SECRET, SENT_AT, SecurityCases

RECORDED = {
    "delivered": (Kind.DELIVERED, "cloudflare.delivered"),
    "deferred": (Kind.DEFERRED, "cloudflare.deferred"),
    "bounced_hard": (Kind.HARD_BOUNCE, "cloudflare.hard_bounce"),
    "bounced_soft": (Kind.SOFT_BOUNCE, "cloudflare.other_bounce"),
    "bounced_unstated": (Kind.SOFT_BOUNCE, "cloudflare.other_bounce"),
    "complained": (Kind.COMPLAINT, "cloudflare.complained"),
    "rejected": (Kind.REJECTED, "cloudflare.not_attempted"),
    "failed": (Kind.REJECTED, "cloudflare.not_attempted"),
    "without_event_id": (Kind.COMPLAINT, "cloudflare.complained"),
}


class TestSecurity(SecurityCases):
    name = "cloudflare"
    signature_header = "webhook-signature"
    kinds_never_told = frozenset({Kind.ACCEPTED, Kind.UNSUBSCRIBED, Kind.OTHER})

    def make(self, *secrets: str) -> Cloudflare:
        return Cloudflare(secrets, tolerance_s=300, account_id="account-1", domains=("mail.example.org",))


def read(body: bytes, **options: object) -> Normalised:
    return Cloudflare((SECRET,), **options).normalise(posted(body))  # type: ignore[arg-type]


def changed(name: str, path: str, value: object) -> bytes:
    return reading.changed(recorded("cloudflare", name), path, value)


def test_every_recorded_payload_has_its_outcome_written_down() -> None:
    assert names("cloudflare") == {*RECORDED, "unknown_type", "schema_version_2"}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items())
def test_a_recorded_payload_comes_to(name: str, expected: tuple[Kind, str]) -> None:
    event = only_event(read(recorded("cloudflare", name)))

    assert (event.kind, event.rule, event.recipient) == (*expected, JANE)


def test_an_event_carries_all_that_is_known() -> None:
    event = only_event(read(recorded("cloudflare", "bounced_hard")))

    assert event.event_id == "cloudflare:01932f6e-0000-7000-8000-000000000042"
    assert event.provider_message_id == "msg-0042@mail.example.org"
    assert event.occurred_at.isoformat() == "2026-11-22T23:41:12.126000+00:00"
    assert event.received_at == RECEIVED_AT
    assert event.detail == "hard; permanent_failure; no such user; 550; 5.1.1; 550 5.1.1 no such user"


def test_an_event_without_an_id_of_its_own_takes_the_signed_one() -> None:
    assert only_event(read(recorded("cloudflare", "without_event_id"))).event_id == "cloudflare:msg_1"


@pytest.mark.parametrize("own_id", [None, "", {}, [], True])
def test_an_odd_event_id_is_as_good_as_none(own_id: object) -> None:
    assert only_event(read(changed("complained", "payload.eventId", own_id))).event_id == "cloudflare:msg_1"


def test_an_unknown_type_is_counted_only() -> None:
    assert read(recorded("cloudflare", "unknown_type")) == Normalised(counted={Kind.OTHER: 1})


@pytest.mark.parametrize("bounce", [None, {}, "hard", ["hard"], {"type": None}, {"type": "harder"}, {"type": ["hard"]}])
def test_a_bounce_that_does_not_state_hard_is_soft(bounce: object) -> None:
    assert only_event(read(changed("bounced_hard", "payload.bounce", bounce))).kind is Kind.SOFT_BOUNCE


@pytest.mark.parametrize("version", [2, "2", 0, "", True, False, [1], 1.5])
def test_another_schema_version_is_parked(version: object) -> None:
    said = read(changed("complained", "metadata.eventSchemaVersion", version))

    assert (said.events, [item.reason for item in said.parked]) == ((), ["metadata.eventSchemaVersion is not 1"])


@pytest.mark.parametrize("version", [1, "1", None])
def test_the_first_schema_version_may_be_written_as_text_or_missing(version: object) -> None:
    assert only_event(read(changed("complained", "metadata.eventSchemaVersion", version))).kind is Kind.COMPLAINT


def test_an_event_of_another_account_is_parked() -> None:
    said = read(recorded("cloudflare", "complained"), account_id="account-2")

    assert (said.events, [item.reason for item in said.parked]) == (
        (),
        ["metadata.accountId is not CLOUDFLARE_ACCOUNT_ID"],
    )


@pytest.mark.parametrize("domain", ["example.net", "", None, 5, "example.org"])
def test_an_event_of_another_domain_is_parked(domain: object) -> None:
    said = read(changed("complained", "source.domain", domain), domains=("mail.example.org",))

    assert (said.events, [item.reason for item in said.parked]) == (
        (),
        ["source.domain is not one of CLOUDFLARE_DOMAINS"],
    )


def test_an_event_of_our_account_and_one_of_our_domains_is_believed() -> None:
    body = changed("complained", "source.domain", "Mail.Example.ORG.")

    assert only_event(read(body, account_id="account-1", domains=("example.net", "mail.example.org")))


@pytest.mark.parametrize("recipient", [None, "", 5, [JANE], f"{JANE}, john@example.org", "jane\u200b@example.com"])
def test_a_removal_that_names_no_single_recipient_is_parked(recipient: object) -> None:
    said = read(changed("complained", "payload.recipient", recipient))

    assert (said.events, [item.index for item in said.parked]) == ((), [0])


def test_a_delivery_that_names_no_single_recipient_is_counted_only() -> None:
    assert read(changed("delivered", "payload.recipient", None)) == Normalised(counted={Kind.DELIVERED: 1})


@pytest.mark.parametrize("kind", [Kind.ACCEPTED, Kind.UNSUBSCRIBED, Kind.OTHER])
def test_there_is_no_sample_of_a_kind_that_cloudflare_does_not_tell(kind: Kind) -> None:
    with pytest.raises(ValueError, match="no event for"):
        Cloudflare((SECRET,)).sample(kind, JANE, "evt_1", SENT_AT)
