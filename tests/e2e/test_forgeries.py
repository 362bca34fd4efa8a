"""Forged, replayed and unproven posts at a running server: all are refused, and nothing is published.

The server is that of the Procfile, but for the hosts of AWS and Scaleway, which are on loopback. The last tests post
what is genuine, for every provider: if the server refused everything, or published nothing, they would fail.
"""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
import requests

from bench.key_pairs import certificate
from tests.e2e import posts, proofs
from tests.e2e.deployment import Deployment, procfile
from tests.e2e.posts import Door
from tests.e2e.proofs import Post, recorded
from tests.system import wait_until
from tests.vendor_hosts import VendorHosts, vendor_hosts

PROVIDERS = sorted(proofs.GENUINE)
CHAIN = "messaging.s3.fr-par.scw.cloud/fr-par/sns/sns-trust-chain.pem"
INSIDE = "http://169.254.169.254/latest/meta-data/"
PEM = "/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem"
JANE, VICTIM = "jane.doe@example.com", "victim@example.net"

Refused = Callable[[str, Post], str]
"""Posts at the door of a provider, where the answer must be 401, and returns its reason."""


@pytest.fixture(scope="module")
def hosts() -> Iterator[VendorHosts]:
    """AWS and Scaleway, which have the certificate of our key."""
    pem = certificate(proofs.RSA)
    with vendor_hosts(
        {url.removeprefix("https://"): pem for url in proofs.CERTIFICATES.values()} | {CHAIN: pem}
    ) as one:
        yield one


@pytest.fixture(scope="module")
def server(standing_deployment: Deployment, hosts: VendorHosts) -> Deployment:
    """A server with every provider, and every queue there is."""
    standing_deployment.environ.update(proofs.SETTINGS | {"VENDOR_URL": hosts.url})
    standing_deployment.release()
    standing_deployment.start_web(app="tests.vendor_app:app")
    return standing_deployment


@pytest.fixture(scope="module")
def door(server: Deployment) -> Door:
    return server.open_door()


@pytest.fixture
def nothing_published(server: Deployment) -> Iterator[None]:
    """In the end, every queue must be as it was."""
    before = server.system.depths()
    yield
    assert server.system.depths() == before


@pytest.fixture
def refused(door: Door, nothing_published: None) -> Refused:
    def post(provider: str, post: Post) -> str:
        answer = door.post(provider, *post)
        assert answer.status == 401
        return str(answer.said["error"])

    return post


def signed_at(provider: str, age: timedelta) -> Post:
    """A genuine post whose signed time is `age` ago."""
    body, age_s = recorded(provider), int(age.total_seconds())
    if provider in proofs.TOPICS:
        return proofs.sns(provider, body, age=age)
    signers: dict[str, Callable[..., Post]] = {"sendgrid": proofs.sendgrid, "mailgun": proofs.mailgun}
    return signers.get(provider, partial(proofs.standard, provider))(body, age_s=age_s)


def written_anew(provider: str) -> Post:
    """A genuine post whose JSON was read and written again, which changes no value."""
    body, headers = proofs.genuine(provider)
    if provider == "mandrill":
        events = json.loads(parse_qsl(body.decode())[0][1])
        return urlencode({"mandrill_events": json.dumps(events, indent=1)}).encode(), headers
    return json.dumps(json.loads(body), indent=1).encode(), headers


def changed(post: Post, **fields: str) -> Post:
    """An envelope of SNS, of which `fields` were changed after it was signed."""
    return json.dumps(json.loads(post[0]) | fields).encode(), post[1]


def confirmation(provider: str, **fields: str) -> Post:
    """What SNS posts when somebody subscribes our address to a topic."""
    asked = {"Type": "SubscriptionConfirmation", "Token": "made-up-token", "SubscribeURL": INSIDE}
    return proofs.sns(provider, b"You have chosen to subscribe.", **(asked | fields))


# --- every provider ---


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_recorded_body_without_a_genuine_proof_is_refused(refused: Refused, provider: str) -> None:
    in_the_body = {"mailgun", "unisender_go"}  # a made-up one, which these providers put there

    assert refused(provider, (recorded(provider), [])) == (
        "bad_signature" if provider in in_the_body else "missing_headers"
    )


@pytest.mark.parametrize(
    ("provider", "hours"),
    [("resend", 1), ("cloudflare", 1), ("sendgrid", 26), ("mailgun", 13), ("ses", 15 * 24), ("scaleway", 15 * 24)],
)
def test_a_stale_post_is_refused(refused: Refused, provider: str, hours: int) -> None:
    assert refused(provider, signed_at(provider, timedelta(hours=hours))) == "stale"


@pytest.mark.parametrize("provider", ["resend", "cloudflare", "sendgrid", "mailgun", "ses", "scaleway"])
def test_a_post_of_the_future_is_refused(refused: Refused, provider: str) -> None:
    assert refused(provider, signed_at(provider, -timedelta(hours=2))) == "from_the_future"


@pytest.mark.parametrize(
    "provider",
    ["cloudflare", "mailersend", "mailtrap", "mandrill", "postal", "resend", "sendgrid", "unisender_go"],
)
def test_a_body_that_was_written_anew_is_refused(refused: Refused, provider: str) -> None:
    assert refused(provider, written_anew(provider)) == "bad_signature"


def test_sendgrids_body_without_its_last_two_bytes_is_refused(refused: Refused) -> None:
    body, headers = proofs.genuine("sendgrid")

    assert body.endswith(b"\r\n")
    assert refused("sendgrid", (body.strip(), headers)) == "bad_signature"


# --- secrets and keys ---


@pytest.mark.parametrize("provider", proofs.BASIC)
def test_wrong_credentials_are_refused(refused: Refused, provider: str) -> None:
    assert (
        refused(provider, proofs.basic(provider, recorded(provider), "another-made-up-password")) == "bad_credentials"
    )


@pytest.mark.parametrize(
    ("provider", "sign"),
    [
        ("mailersend", partial(proofs.hexadecimal, "signature")),
        ("mailgun", proofs.mailgun),
        ("mailtrap", partial(proofs.hexadecimal, "mailtrap-signature")),
        ("mandrill", proofs.mandrill),
        ("unisender_go", proofs.unisender_go),
    ],
)
@pytest.mark.parametrize("secret", ["", "another-made-up-secret"])
def test_a_proof_with_the_empty_key_or_another_is_refused(
    refused: Refused, provider: str, sign: Callable[[bytes, str], Post], secret: str
) -> None:
    assert refused(provider, sign(recorded(provider), secret)) == "bad_signature"


@pytest.mark.parametrize("provider", posts.PREFIX)
@pytest.mark.parametrize("secret", ["whsec_", "whsec_YW5vdGhlciBzZWNyZXQ="])
def test_a_standard_webhook_with_the_empty_key_or_another_is_refused(
    refused: Refused, provider: str, secret: str
) -> None:
    assert refused(provider, proofs.standard(provider, recorded(provider), secret=secret)) == "bad_signature"


@pytest.mark.parametrize(
    ("provider", "sign", "key"),
    [
        ("sendgrid", proofs.sendgrid, proofs.OTHER_P256),
        ("postal", proofs.postal, proofs.OTHER_RSA),
        ("ses", partial(proofs.sns, "ses"), proofs.OTHER_RSA),
        ("scaleway", partial(proofs.sns, "scaleway"), proofs.OTHER_RSA),
    ],
)
def test_a_signature_of_another_key_is_refused(
    refused: Refused, provider: str, sign: Callable[[bytes, Any], Post], key: Any
) -> None:
    assert refused(provider, sign(recorded(provider), key)) == "bad_signature"


def test_the_test_key_of_mandrill_opens_no_door_to_real_events(refused: Refused) -> None:
    assert refused("mandrill", proofs.mandrill(recorded("mandrill"), "test-webhook")) == "bad_signature"


def test_the_test_secret_of_mailersend_opens_no_door_to_real_events(refused: Refused) -> None:
    secret = "test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G"

    assert refused("mailersend", proofs.hexadecimal("signature", recorded("mailersend"), secret)) == "bad_signature"


def test_secrets_that_are_set_but_empty_stop_the_boot(server: Deployment, nothing_published: None) -> None:
    secrets = [name for name in {**proofs.SETTINGS, **posts.SETTINGS} if not name.endswith("_URLS")]
    started = server.run(procfile()["web"], **dict.fromkeys(secrets, ""))

    assert started.returncode != 0
    assert all(f"{name} is set but empty" in started.stderr for name in secrets)


# --- proofs taken apart ---


@pytest.mark.parametrize("provider", posts.PREFIX)
def test_a_post_whose_id_was_stripped_is_refused(refused: Refused, provider: str) -> None:
    body, headers = proofs.genuine(provider)

    assert refused(provider, (body, [one for one in headers if not one[0].endswith("-id")])) == "missing_headers"


@pytest.mark.parametrize("digits", [-1, 1])
def test_a_digit_that_moves_between_time_and_token_makes_no_new_proof_of_mailgun(refused: Refused, digits: int) -> None:
    body = json.loads(proofs.mailgun(recorded("mailgun"), token="7" * 50)[0])
    signed = body["signature"]["timestamp"] + body["signature"]["token"]
    body["signature"] |= {"timestamp": signed[: 10 + digits], "token": signed[10 + digits :]}

    assert refused("mailgun", (json.dumps(body).encode(), [])) == "malformed_timestamp"


def test_the_weaker_signature_of_postal_does_not_count_beside_a_broken_stronger_one(refused: Refused) -> None:
    body, headers = proofs.genuine("postal")
    spoiled = [(name, "AAAA" if name.endswith("-256") else value) for name, value in headers]

    assert refused("postal", (body, spoiled)) == "bad_signature"


# --- SNS ---


@pytest.mark.parametrize(
    ("provider", "topic"),
    [
        ("ses", "arn:aws:sns:eu-west-1:999999999999:mine"),
        ("ses", proofs.TOPICS["ses"] + "-too"),
        ("scaleway", "arn:scw:sns:fr-par:project-99999999-0000-4000-8000-000000000009:mine"),
        ("scaleway", proofs.TOPICS["ses"]),
    ],
)
@pytest.mark.parametrize("make", [lambda provider, topic: proofs.sns(provider, recorded(provider), TopicArn=topic),
                                  lambda provider, topic: confirmation(provider, TopicArn=topic)],
                         ids=["notification", "confirmation"])  # fmt: skip
def test_a_topic_of_somebody_else_is_refused_and_nothing_is_fetched_for_it(
    refused: Refused, hosts: VendorHosts, provider: str, topic: str, make: Callable[[str, str], Post]
) -> None:
    hosts.asked.clear()

    assert refused(provider, make(provider, topic)) == "bad_credentials"
    assert hosts.asked == []


@pytest.mark.parametrize(
    "url",
    [
        f"https://sns.eu-west-1.amazonaws.com.example.net{PEM}",
        f"https://sns.s3-ap-southeast-2.amazonaws.com{PEM}",
        f"https://sns.us-east-1.amazonaws.com{PEM}",
        f"https://sns.eu-west-1.amazonaws.com@example.net{PEM}",
        f"https://example.net/sns.eu-west-1.amazonaws.com{PEM}",
        f"https://sns.eu-west-1.amazonaws.com:8443{PEM}",
        f"http://sns.eu-west-1.amazonaws.com{PEM}",
        f"https://sns.eu-west-1.amazonaws.com{PEM}\n",
        f"https://sns.eu-west-1.amazonaws.com{PEM}?x={PEM}",
        "https://sns.eu-west-1.amazonaws.com/bucket/../mine.pem",
        INSIDE,
    ],
)
def test_a_certificate_of_another_host_than_the_topics_is_refused_and_never_fetched(
    refused: Refused, hosts: VendorHosts, url: str
) -> None:
    hosts.asked.clear()

    assert refused("ses", proofs.sns("ses", recorded("ses"), SigningCertURL=url)) == "bad_signature"
    assert hosts.asked == []


@pytest.mark.parametrize("field", ["Message", "MessageId", "Timestamp", "Type"])
def test_an_envelope_that_was_changed_is_refused(refused: Refused, field: str) -> None:
    other = {
        "Message": recorded("ses").decode().replace(JANE, VICTIM),
        "MessageId": "another",
        "Timestamp": "2026-11-22T23:41:12.126Z",
        "Type": "SubscriptionConfirmation",
    }

    # Without its Token, a notification cannot even pass for the confirmation that its Type says.
    expected = "missing_headers" if field == "Type" else "bad_signature"
    assert refused("ses", changed(proofs.genuine("ses"), **{field: other[field]})) == expected


@pytest.mark.parametrize("provider", proofs.TOPICS)
def test_the_url_that_a_confirmation_names_is_never_followed(
    door: Door, hosts: VendorHosts, refused: Refused, provider: str
) -> None:
    hosts.asked.clear()

    assert refused(provider, changed(confirmation(provider), SubscribeURL=f"{hosts.url}/elsewhere")) == "bad_signature"
    assert door.post(provider, *confirmation(provider, SubscribeURL=f"{hosts.url}/elsewhere")).status == 200
    assert [one for one in hosts.asked if "elsewhere" in one] == []
    assert hosts.asked[-1].startswith(("sns.eu-west-1.amazonaws.com/?", "sns.mnq.fr-par.scaleway.com/?"))


@pytest.mark.usefixtures("nothing_published")
@pytest.mark.parametrize("provider", proofs.TOPICS)
def test_a_confirmation_that_is_redirected_goes_nowhere_and_may_be_sent_again(
    door: Door, hosts: VendorHosts, provider: str
) -> None:
    hosts.asked.clear()
    hosts.redirect = f"{hosts.url}/elsewhere"
    answer = door.post(provider, *confirmation(provider))
    hosts.redirect = ""

    assert (answer.status, answer.said) == (503, {"error": "busy"})
    assert [one for one in hosts.asked if "elsewhere" in one] == []


@pytest.mark.parametrize(
    ("headers", "reason"),
    [([], "missing_headers"), (proofs.basic("ses", b"", "another-made-up-password")[1], "bad_credentials")],
)
def test_raw_delivery_without_its_credentials_is_refused(refused: Refused, headers: Any, reason: str) -> None:
    raw = [("x-amz-sns-rawdelivery", "true"), ("x-amz-sns-topic-arn", proofs.TOPICS["ses"])]

    assert refused("ses", (recorded("ses"), [*raw, *headers])) == reason


@pytest.mark.parametrize("headers", [[], proofs.basic("ses", b"")[1]])
def test_raw_delivery_is_refused_where_no_credentials_were_agreed_on(refused: Refused, headers: Any) -> None:
    assert refused("scaleway", (recorded("scaleway"), headers)) == "missing_headers"


# --- probes ---


@pytest.mark.usefixtures("nothing_published")
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_probe_is_answered_to_those_who_ask_and_to_nobody_else(server: Deployment, method: str) -> None:
    asking = {"GET": {"unisender_go"}, "HEAD": {"mandrill"}}[method]
    statuses = {
        name: requests.request(method, f"{server.url}/webhooks/{name}", timeout=10).status_code
        for name in (*PROVIDERS, "nobody")
    }

    assert statuses == {name: 200 if name in asking else 405 for name in PROVIDERS} | {"nobody": 404}


# --- what is genuine ---


@pytest.fixture
def consumer(server: Deployment) -> Iterator[None]:
    """The consumer of events beside the server; it must end well."""
    process = server.start_consumer()
    yield
    assert server.system.stop(process) == 0


@pytest.mark.usefixtures("consumer")
def test_another_event_under_a_used_proof_of_mailgun_is_accepted_and_has_no_effect(
    server: Deployment, door: Door
) -> None:
    server.system.put([VICTIM], b"{}")
    body, _ = proofs.genuine("mailgun")
    forged = body.replace(JANE.encode(), VICTIM.encode())
    letters, handled = server.dead(), sum(server.system.outcomes().values())

    assert door.post("mailgun", body, []).accepted == 1
    wait_until(lambda: sum(server.system.outcomes().values()) > handled, "the genuine event is handled")
    assert door.post("mailgun", forged, []).accepted == 1
    wait_until(lambda: server.dead() == letters + 1, "the forged one is dead")

    assert server.system.record(VICTIM) == b"{}"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_genuine_post_of_every_provider_is_published(server: Deployment, door: Door, provider: str) -> None:
    before = server.waiting()
    answer = door.post(provider, *proofs.genuine(provider))

    assert (answer.status, answer.said) == (200, {"queued": 1, "parked": 0, "counted": 0})
    wait_until(lambda: server.waiting() == before + 1, "the event is on the work queue", timeout_s=5)
