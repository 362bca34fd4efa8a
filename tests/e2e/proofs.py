"""Genuine posts of every provider, made from its documentation and not from our code: the bodies are recorded payloads,
the secrets, keys and topics ours."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.e2e import posts
from tests.e2e.posts import Headers

PAYLOADS = Path(__file__).parents[1] / "payloads"
REMOVING = {
    "brevo": "spam.json",
    "cloudflare": "complained.json",
    "mailersend": "hard_bounced.json",  # with the escaped slashes that a new encoding loses
    "mailgun": "complained.json",
    "mailjet": "spam.json",
    "mailtrap": "spam.json",
    "mandrill": "spam.form",
    "postal": "failed_5_1_1.json",
    "postmark": "spam_complaint.json",
    "resend": "complained.json",
    "scaleway": "mailbox_not_found.json",
    "sendgrid": "spam_report.json",
    "ses": "complaint.json",
    "sparkpost": "spam_complaint.json",
    "unisender_go": "spam.json",
}
RSA, P256 = rsa.generate_private_key(65_537, 2048), ec.generate_private_key(ec.SECP256R1())
OTHER_RSA, OTHER_P256 = rsa.generate_private_key(65_537, 2048), ec.generate_private_key(ec.SECP256R1())
SECRET = "the made-up secret of a webhook".replace(" ", "-")
URL = "https://mail.example.com/webhooks/mandrill"
TOPICS = {
    "ses": "arn:aws:sns:eu-west-1:123456789012:ses-feedback",
    "scaleway": "arn:scw:sns:fr-par:project-00000000-0000-4000-8000-000000000001:mail-events",
}
CERTIFICATES = {
    "ses": "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem",
    "scaleway": "https://messaging.s3.fr-par.scw.cloud/fr-par/sns/sns_certificate_1.crt",
}
BASIC = ("brevo", "mailjet", "postmark", "sparkpost")


def public_text(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


SETTINGS = {
    **{f"{name.upper()}_WEBHOOK_CREDENTIALS": f"{name}:{SECRET}" for name in BASIC},
    "MAILERSEND_WEBHOOK_SECRETS": SECRET,
    "MAILGUN_SIGNING_KEYS": SECRET,
    "MAILTRAP_WEBHOOK_SECRETS": SECRET,
    "MANDRILL_WEBHOOK_KEYS": SECRET,
    "MANDRILL_WEBHOOK_URLS": URL,
    "POSTAL_PUBLIC_KEYS": public_text(RSA),
    "SCALEWAY_TOPIC_ARNS": TOPICS["scaleway"],
    "SENDGRID_WEBHOOK_KEYS": public_text(P256),
    "SES_RAW_CREDENTIALS": f"ses:{SECRET}",
    "SES_TOPIC_ARNS": TOPICS["ses"],
    "UNISENDER_GO_API_KEYS": SECRET,
}
Post = tuple[bytes, Headers]


def recorded(provider: str) -> bytes:
    """A recorded payload of `provider` that removes somebody."""
    return (PAYLOADS / provider / REMOVING[provider]).read_bytes()


def unix(age_s: int = 0) -> str:
    return str(int(time.time()) - age_s)


def standard(provider: str, body: bytes, **changes: Any) -> Post:
    """Resend and the Worker for Cloudflare; `changes` as posts.signed."""
    return body, posts.signed(provider, body, "msg_forged", **changes)


def basic(provider: str, body: bytes, password: str = SECRET) -> Post:
    credentials = base64.b64encode(f"{provider}:{password}".encode()).decode()
    return body, [("authorization", f"Basic {credentials}")]


def sendgrid(body: bytes, key: ec.EllipticCurvePrivateKey = P256, age_s: int = 0) -> Post:
    signature = key.sign(unix(age_s).encode() + body, ec.ECDSA(hashes.SHA256()))
    prefix = "x-twilio-email-event-webhook"
    return body, [
        (f"{prefix}-signature", base64.b64encode(signature).decode()),
        (f"{prefix}-timestamp", unix(age_s)),
    ]


def mailgun(body: bytes, secret: str = SECRET, age_s: int = 0, token: str = "") -> Post:
    """The token is random in each post, or `token`."""
    token = token or base64.b16encode(hashlib.sha256(str(time.time_ns()).encode()).digest()).decode()[:50]
    signature = hmac.new(secret.encode(), (unix(age_s) + token).encode(), hashlib.sha256).hexdigest()
    proof = {"timestamp": unix(age_s), "token": token, "signature": signature}
    return json.dumps(json.loads(body) | {"signature": proof}).encode(), []


def mandrill(body: bytes, key: str = SECRET, url: str = URL) -> Post:
    form = "".join(name + value for name, value in sorted(parse_qsl(body.decode(), keep_blank_values=True)))
    signature = hmac.new(key.encode(), (url + form).encode(), hashlib.sha1).digest()
    content_type = ("content-type", "application/x-www-form-urlencoded")
    return body, [content_type, ("x-mandrill-signature", base64.b64encode(signature).decode())]


def hexadecimal(header: str, body: bytes, secret: str = SECRET) -> Post:
    """MailerSend and Mailtrap."""
    return body, [(header, hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())]


def postal(body: bytes, key: rsa.RSAPrivateKey = RSA) -> Post:
    def signature(algorithm: hashes.HashAlgorithm) -> str:
        return base64.b64encode(key.sign(body, padding.PKCS1v15(), algorithm)).decode()

    return body, [
        ("x-postal-signature", signature(hashes.SHA1())),  # noqa: S303 - what Postal sends
        ("x-postal-signature-256", signature(hashes.SHA256())),
    ]


def unisender_go(body: bytes, key: str = SECRET) -> Post:
    auth = b"0" * 32
    digest = hashlib.md5(body.replace(auth, key.encode()), usedforsecurity=False).hexdigest()
    return body.replace(auth, digest.encode()), []


def sns(
    provider: str, message: bytes, key: rsa.RSAPrivateKey = RSA, age: timedelta = timedelta(0), **fields: str
) -> Post:
    """A notification, or what `fields` make of it before it is signed."""
    said = {
        "Type": "Notification",
        "MessageId": "made-up-message",
        "TopicArn": TOPICS[provider],
        "Message": message.decode(),
        "Timestamp": (datetime.now(UTC) - age).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "SignatureVersion": "2",
        "SigningCertURL": CERTIFICATES[provider],
    } | fields
    names = ["Message", "MessageId", "Timestamp", "TopicArn", "Type"]
    if said["Type"] != "Notification":
        names = sorted([*names, "SubscribeURL", "Token"])
    signed = "".join(f"{name}\n{said[name]}\n" for name in names).encode()
    said["Signature"] = base64.b64encode(key.sign(signed, padding.PKCS1v15(), hashes.SHA256())).decode()
    return json.dumps(said).encode(), [("content-type", "text/plain; charset=UTF-8")]


GENUINE: dict[str, Callable[[bytes], Post]] = {
    **{name: partial(basic, name) for name in BASIC},
    **{name: partial(standard, name) for name in posts.PREFIX},
    **{name: partial(sns, name) for name in TOPICS},
    "mailersend": partial(hexadecimal, "signature"),
    "mailgun": mailgun,
    "mailtrap": partial(hexadecimal, "mailtrap-signature"),
    "mandrill": mandrill,
    "postal": postal,
    "sendgrid": sendgrid,
    "unisender_go": unisender_go,
}


def genuine(provider: str) -> Post:
    """A post of `provider` as it would make it now."""
    return GENUINE[provider](recorded(provider))
