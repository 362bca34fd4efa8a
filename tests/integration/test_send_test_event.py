"""`mailward send-test-event`: what it posts is what the endpoint accepts, on a real HTTP server and a real broker."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from flask import Flask
from pika.adapters.blocking_connection import BlockingChannel
from werkzeug.serving import make_server

from config.settings import load
from core.clock import utc_now
from core.events import Event, Kind
from core.publisher import Publisher
from core.telemetry import Counters
from core.topology import Topology
from core.wire import decode
from providers import registry
from providers.public_keys import PrivateKey
from tests.command_line import CommandLine
from tests.unit.providers.keys import private_key, public_text
from tests.unit.providers.sns_signing import rsa_key
from tests.unit.providers.test_every_provider import security_cases
from webhook import doors
from webhook.endpoint import Endpoint

SECRETS = {
    "RESEND_WEBHOOK_SECRETS": "whsec_cmVzZW5kLW9mLXRoZS10ZXN0cw==",
    "CLOUDFLARE_WEBHOOK_SECRETS": "whsec_Y2xvdWRmbGFyZS1vZi10ZXN0cw==",
}
SECRET = "a-made-up-secret-of-tests"
OTHERS = {
    "BREVO_WEBHOOK_CREDENTIALS": SECRET,
    "MAILERSEND_WEBHOOK_SECRETS": SECRET,
    "MAILGUN_SIGNING_KEYS": SECRET,
    "MAILJET_WEBHOOK_CREDENTIALS": f"mailjet:{SECRET}",
    "MAILTRAP_WEBHOOK_SECRETS": SECRET,
    "MANDRILL_WEBHOOK_KEYS": SECRET,
    "MANDRILL_WEBHOOK_URLS": "https://mail.example.com/webhooks/mandrill",
    "POSTAL_PUBLIC_KEYS": public_text(rsa_key("postal")),
    "POSTMARK_WEBHOOK_CREDENTIALS": f"postmark:{SECRET}",
    "SCALEWAY_TOPIC_ARNS": "arn:scw:sns:fr-par:project-1:mail-events",
    "SENDGRID_WEBHOOK_KEYS": public_text("sendgrid"),
    "SES_RAW_CREDENTIALS": f"ses:{SECRET}",
    "SES_TOPIC_ARNS": "arn:aws:sns:eu-west-1:123456789012:ses-feedback",
    "SPARKPOST_WEBHOOK_CREDENTIALS": f"sparkpost:{SECRET}",
    "UNISENDER_GO_API_KEYS": SECRET,
}
# Providers sign with keys of their own; these stand for theirs.
PRIVATE_KEYS: dict[str, PrivateKey] = {"postal": rsa_key("postal"), "sendgrid": private_key("sendgrid")}
SIGNED_HERE = [name for name in sorted(registry.PROVIDERS) if name != "scaleway"]
REMOVING = [
    (name, kind.value)
    for name in SIGNED_HERE
    for kind in (Kind.COMPLAINT, Kind.HARD_BOUNCE)
    if kind not in security_cases()[name].kinds_never_told
]


@pytest.fixture
def environ(process_environ: dict[str, str]) -> dict[str, str]:
    return process_environ | SECRETS | OTHERS


def mailward(environ: dict[str, str], provider: str, directory: Path) -> CommandLine:
    """The command line, with the private key of `provider` if it signs with one."""
    if provider not in PRIVATE_KEYS:
        return CommandLine(environ)
    file = directory / f"{provider}.pem"
    file.write_bytes(PRIVATE_KEYS[provider].private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return CommandLine(environ | {"TEST_PRIVATE_KEY": str(file)})


@pytest.fixture
def base_url(environ: dict[str, str], channel: BlockingChannel, topology: Topology) -> Iterator[str]:
    """A web server with the endpoint."""
    settings = load(environ)
    publisher = Publisher(settings.amqp_url, connection_name="test")
    endpoint = Endpoint(registry.configured(settings), registry.missing, publisher, topology, Counters(), utc_now)
    app = Flask("webhook")
    app.register_blueprint(doors.route(endpoint))
    server = make_server("127.0.0.1", 0, app)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/webhooks"
    server.shutdown()
    thread.join()
    server.server_close()
    publisher.close()


def arrived(channel: BlockingChannel, topology: Topology) -> Event | None:
    _, _, body = channel.basic_get(topology.events.name, auto_ack=True)
    return None if body is None else decode(body)


@pytest.mark.parametrize(("provider", "kind"), REMOVING)
def test_an_event_of_every_provider_is_accepted_and_queued(
    environ: dict[str, str],
    base_url: str,
    channel: BlockingChannel,
    topology: Topology,
    tmp_path: Path,
    provider: str,
    kind: str,
) -> None:
    out = mailward(environ, provider, tmp_path).out(
        "send-test-event", "--provider", provider, "--kind", kind, "--to", "Ann@Example.com",
        "--url", f"{base_url}/{provider}", "--event-id", "msg_1", "--occurred-at", "2026-01-31T12:00:00Z",
    )  # fmt: skip

    event = arrived(channel, topology)
    assert out.startswith("200 ")
    assert event is not None
    assert (event.provider, event.kind, event.recipient) == (provider, Kind(kind), "ann@example.com")
    assert event.event_id.startswith(f"{provider}:")
    assert event.occurred_at.isoformat() == "2026-01-31T12:00:00+00:00"


@pytest.mark.parametrize("provider", ["cloudflare", "resend"])
def test_an_event_has_the_id_that_is_asked_for_where_the_proof_carries_it(
    environ: dict[str, str], base_url: str, channel: BlockingChannel, topology: Topology, provider: str
) -> None:
    CommandLine(environ).out(
        "send-test-event", "--provider", provider, "--kind", "complaint", "--to", "ann@example.com",
        "--url", f"{base_url}/{provider}", "--event-id", "msg_1",
    )  # fmt: skip

    event = arrived(channel, topology)
    assert event is not None
    assert event.event_id == f"{provider}:msg_1"


@pytest.mark.parametrize("provider", SIGNED_HERE)
def test_a_bad_signature_is_401_exit_1_and_publishes_nothing(
    environ: dict[str, str],
    base_url: str,
    channel: BlockingChannel,
    topology: Topology,
    tmp_path: Path,
    provider: str,
) -> None:
    result = mailward(environ, provider, tmp_path)(
        "send-test-event", "--provider", provider, "--kind", "hard_bounce", "--to", "ann@example.com",
        "--url", f"{base_url}/{provider}", "--bad-signature",
    )  # fmt: skip

    assert result.exit_code == 1
    assert result.stdout.startswith("401 ")
    assert arrived(channel, topology) is None


def test_where_the_provider_alone_can_sign_it_is_said_what_to_do_instead(environ: dict[str, str]) -> None:
    result = CommandLine(environ)(
        "send-test-event", "--provider", "scaleway", "--kind", "hard_bounce", "--to", "ann@example.com"
    )

    assert result.exit_code == 1
    assert "instead send a mail" in result.stderr


def test_the_body_of_a_file_is_signed_and_posted_as_it_is(
    environ: dict[str, str], base_url: str, channel: BlockingChannel, topology: Topology, tmp_path: Path
) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"\xff not json \r\n")

    out = CommandLine(environ).out(
        "send-test-event", "--provider", "resend", "--body", str(file), "--url", f"{base_url}/resend"
    )

    assert json.loads(out.partition(" ")[2])["parked"] == 1
    assert arrived(channel, topology) is None


def test_every_event_gets_an_id_of_its_own(
    environ: dict[str, str], base_url: str, channel: BlockingChannel, topology: Topology
) -> None:
    command = ("send-test-event", "--provider", "resend", "--kind", "complaint", "--to", "ann@example.com")
    for _ in range(2):
        CommandLine(environ).out(*command, "--url", f"{base_url}/resend")

    first, second = arrived(channel, topology), arrived(channel, topology)

    assert first is not None
    assert second is not None
    assert first.event_id != second.event_id


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (("--kind", "complaint"), 2, "--to"),
        (("--kind", "complaint", "--to", "a@example.com", "--event-id", "with blank"), 1, "message id"),
        (("--kind", "complaint", "--to", "a@example.com", "--occurred-at", "soon"), 2, "--occurred-at"),
        (("--kind", "complaint", "--to", "a@example.com", "--url", "http://127.0.0.1:1/"), 1, "Connection refused"),
        (("--kind", "complaint", "--to", "a@example.com", "--url", "nonsense"), 1, "nonsense does not answer"),
    ],
)
def test_what_cannot_be_sent_is_said_in_words(arguments: tuple[str, ...], status: int, says: str) -> None:
    result = CommandLine(SECRETS)("send-test-event", "--provider", "resend", *arguments)

    assert result.exit_code == status
    assert says in result.stderr


def test_a_provider_without_its_secret_is_said_in_words() -> None:
    result = CommandLine({})("send-test-event", "--provider", "resend", "--kind", "complaint", "--to", "a@example.com")

    assert result.exit_code == 1
    assert "RESEND_WEBHOOK_SECRETS" in result.stderr
