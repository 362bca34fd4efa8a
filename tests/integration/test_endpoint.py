"""The status contract with the real providers and the real broker: what is answered, and what is in the queues then."""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from flask.testing import FlaskClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pika.adapters.blocking_connection import BlockingChannel
from werkzeug.test import TestResponse

from config.settings import load
from core import clock, parked, wire
from core.events import Kind
from core.publisher import Publisher
from core.telemetry import Counters
from core.topology import Topology
from dev.services import RabbitMQ
from providers import registry
from providers.base import Provider
from webhook import doors
from webhook.app import create_app
from webhook.endpoint import Endpoint

SECRETS = ("whsec_b2xkLXNlY3JldC1mb3ItdGVzdHM=", "whsec_bmV3LXNlY3JldC1mb3ItdGVzdHM=")
MIB = 1024 * 1024


@pytest.fixture
def configured() -> dict[str, Provider]:
    return registry.configured(
        load({"RESEND_WEBHOOK_SECRETS": ",".join(SECRETS), "CLOUDFLARE_WEBHOOK_SECRETS": SECRETS[0]})
    )


@pytest.fixture
def client(rabbitmq: RabbitMQ, topology: Topology, configured: dict[str, Provider]) -> Iterator[FlaskClient]:
    publisher = Publisher(rabbitmq.url, connection_name="test")
    endpoint = Endpoint(configured, registry.missing, publisher, topology, Counters(), clock.utc_now)
    yield create_app([doors.route(endpoint)], doors.shortcuts(endpoint)).test_client()
    publisher.close()


def signed(provider: Provider, body: bytes, sent_at: datetime | None = None) -> dict[str, str]:
    return dict(provider.sign(body, f"msg_{uuid.uuid4().hex}", sent_at or clock.utc_now()).headers)


def post(client: FlaskClient, provider: Provider, body: bytes, headers: dict[str, str] | None = None) -> TestResponse:
    headers = signed(provider, body) if headers is None else headers
    return client.post(f"/webhooks/{provider.name}", data=body, headers=headers)


def complaint(provider: Provider, recipient: str = "reader@example.com") -> bytes:
    return provider.sample(Kind.COMPLAINT, recipient, "mail-1", datetime(2026, 11, 1, tzinfo=UTC))


def depths(channel: BlockingChannel, topology: Topology) -> tuple[int, int]:
    """Messages in the work queue and in the parked lane."""
    queues = (topology.events.name, topology.events.parked)
    work, lane = (channel.queue_declare(queue, passive=True).method.message_count for queue in queues)
    return int(work), int(lane)


@pytest.mark.parametrize("name", ["resend", "cloudflare"])
def test_200_and_the_event_is_in_the_queue(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology, name: str
) -> None:
    answer = post(client, configured[name], complaint(configured[name]))

    assert (answer.status_code, answer.json) == (200, {"queued": 1, "parked": 0, "counted": 0})
    _, properties, body = channel.basic_get(topology.events.name, auto_ack=True)
    event = wire.decode(body)
    assert (event.provider, event.kind, event.recipient) == (name, Kind.COMPLAINT, "reader@example.com")
    assert (properties.message_id, properties.delivery_mode) == (event.event_id, 2)
    assert depths(channel, topology) == (0, 0)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.OTHER])
def test_200_for_every_kind_that_is_queued(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology, kind: Kind
) -> None:
    provider = configured["resend"]
    body = provider.sample(kind, "reader@example.com", "mail-1", datetime(2026, 11, 1, tzinfo=UTC))

    assert post(client, provider, body).status_code == 200

    assert depths(channel, topology) == (1, 0)


def test_200_and_nothing_queued_for_a_kind_that_is_only_counted(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology
) -> None:
    provider = configured["resend"]
    body = provider.sample(Kind.OTHER, "reader@example.com", "mail-1", datetime(2026, 11, 1, tzinfo=UTC))

    answer = post(client, provider, body)

    assert (answer.status_code, answer.json) == (200, {"queued": 0, "parked": 0, "counted": 1})
    assert depths(channel, topology) == (0, 0)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"type": "email.complained"}', b"[" * 5000])
def test_a_verified_body_that_cannot_be_understood_is_parked_with_its_bytes(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology, body: bytes
) -> None:
    answer = post(client, configured["resend"], body)

    assert answer.status_code == 200
    assert depths(channel, topology) == (0, 1)
    _, _, letter = channel.basic_get(topology.events.parked, auto_ack=True)
    assert parked.decode(letter).body == body


def test_a_repeat_is_accepted_again_because_the_effect_is_idempotent(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology
) -> None:
    body = complaint(configured["resend"])
    headers = signed(configured["resend"], body)

    assert [post(client, configured["resend"], body, headers).status_code for _ in range(3)] == [200, 200, 200]

    ids = {channel.basic_get(topology.events.name, auto_ack=True)[1].message_id for _ in range(3)}
    assert len(ids) == 1


@pytest.mark.parametrize("number", [0, 1])
def test_each_of_two_live_secrets_is_accepted(
    client: FlaskClient, channel: BlockingChannel, topology: Topology, number: int
) -> None:
    signer = registry.configured(load({"RESEND_WEBHOOK_SECRETS": SECRETS[number]}))["resend"]

    assert post(client, signer, complaint(signer)).status_code == 200

    assert depths(channel, topology) == (1, 0)


FORGERIES: dict[str, dict[str, str]] = {
    "nothing at all": {},
    "no signature": {"svix-signature": ""},
    "another signature": {"svix-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
    "malformed base64": {"svix-signature": "v1,@@@"},
    "non-ASCII": {"svix-signature": "v1,caf\u00e9"},
    "another version only": {"svix-signature": "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
    "a timestamp that is no number": {"svix-timestamp": "yesterday"},
    "another id": {"svix-id": "msg_other"},
}


@pytest.mark.parametrize("changed", FORGERIES.values(), ids=FORGERIES.keys())
def test_401_for_a_forgery_and_nothing_is_published(
    client: FlaskClient,
    configured: dict[str, Provider],
    channel: BlockingChannel,
    topology: Topology,
    changed: dict[str, str],
) -> None:
    body = complaint(configured["resend"])
    headers = signed(configured["resend"], body) | changed if changed else {}

    assert post(client, configured["resend"], body, headers).status_code == 401

    assert depths(channel, topology) == (0, 0)


@pytest.mark.parametrize("age_s", [-400, 400])
def test_401_for_a_genuine_post_that_is_too_old_or_from_the_future(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology, age_s: int
) -> None:
    body = complaint(configured["resend"])
    headers = signed(configured["resend"], body, clock.utc_now() - timedelta(seconds=age_s))

    assert post(client, configured["resend"], body, headers).status_code == 401

    assert depths(channel, topology) == (0, 0)


def test_401_when_one_byte_of_the_body_has_changed(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology
) -> None:
    body = complaint(configured["resend"])
    headers = signed(configured["resend"], body)

    assert post(client, configured["resend"], body.replace(b"reader", b"Reader"), headers).status_code == 401

    assert depths(channel, topology) == (0, 0)


def test_404_for_a_known_provider_without_its_secret(
    rabbitmq: RabbitMQ, channel: BlockingChannel, topology: Topology, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = Publisher(rabbitmq.url, connection_name="test")
    endpoint = Endpoint({}, registry.missing, publisher, topology, Counters(), clock.utc_now)
    client = create_app([doors.route(endpoint)], doors.shortcuts(endpoint)).test_client()

    assert client.post("/webhooks/resend", data=b"{}").status_code == 404

    assert vars(caplog.records[-1])["missing"] == "RESEND_WEBHOOK_SECRETS is not set"
    assert depths(channel, topology) == (0, 0)
    publisher.close()


def test_413_for_a_body_over_the_limit_even_if_it_is_signed(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology
) -> None:
    assert post(client, configured["resend"], b" " * (2 * MIB + 1)).status_code == 413

    assert depths(channel, topology) == (0, 0)


def test_busy_when_the_queue_is_gone(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology
) -> None:
    channel.queue_delete(topology.events.name)

    answer = post(client, configured["resend"], complaint(configured["resend"]))

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_busy_when_the_parked_lane_is_gone(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology
) -> None:
    channel.queue_delete(topology.events.parked)

    assert post(client, configured["resend"], b"not JSON").status_code == 503


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
ODD = st.fixed_dictionaries(
    {"type": st.sampled_from(["email.bounced", "email.complained", "email.delivered", "x"]) | JSON},
    optional={
        "created_at": st.sampled_from(["2026-11-01T00:00:00Z", "soon", ""]) | JSON,
        "data": st.fixed_dictionaries(
            {},
            optional={
                "to": st.lists(st.sampled_from(["a@example.com", "A <b@example.org>", "", "a@b@c"]) | JSON, max_size=3)
                | JSON,
                "bounce": st.fixed_dictionaries({}, optional={"type": st.just("Permanent") | JSON, "subType": JSON})
                | JSON,
                "cc": JSON,
                "tags": JSON,
                "email_id": JSON,
            },
        )
        | JSON,
    },
).map(lambda value: json.dumps(value).encode())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=ODD | st.binary(max_size=200))
def test_a_signed_body_is_always_200_and_everything_it_said_is_in_a_queue(
    client: FlaskClient, configured: dict[str, Provider], channel: BlockingChannel, topology: Topology, body: bytes
) -> None:
    for queue in (topology.events.name, topology.events.parked):
        channel.queue_purge(queue)

    answer = post(client, configured["resend"], body)

    assert answer.status_code == 200
    said = answer.json
    assert said is not None
    assert sum(said.values()) >= 1
    assert depths(channel, topology) == (said["queued"], min(said["parked"], 1))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=ODD | st.binary(max_size=200),
    headers=st.dictionaries(
        st.sampled_from(["svix-id", "svix-timestamp", "svix-signature", "webhook-id", "content-type"]),
        st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=60),
    ),
)
def test_an_unsigned_body_is_always_401_and_publishes_nothing(
    client: FlaskClient,
    configured: dict[str, Provider],
    channel: BlockingChannel,
    topology: Topology,
    body: bytes,
    headers: dict[str, str],
) -> None:
    assert post(client, configured["resend"], body, headers).status_code == 401
    assert depths(channel, topology) == (0, 0)
