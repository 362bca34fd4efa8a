"""Every provider with made-up secrets, and hard bounces as each one posts them.

The bodies are those of providers.samples. A provider that posts several events in one body does so here: SendGrid and
Mandrill 1,000; Brevo, Mailtrap, Unisender Go (500, 500, 100) and SparkPost (350) as many as they document, Mailjet 100
events of one second. All others post one event at a time.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from bench import key_pairs
from core.events import Kind
from providers import (
    brevo,
    mailersend,
    mailgun,
    mailjet,
    mailtrap,
    mandrill,
    postal,
    postmark,
    scaleway,
    sendgrid,
    ses,
    sparkpost,
    unisender_go,
    url_form,
)
from providers.base import Post, Provider
from providers.cloudflare import Cloudflare
from providers.resend import Resend
from providers.samples.mandrill import form
from providers.samples.sendgrid import END
from providers.sns_envelope import Signer

SECRET = ("whsec_bWFkZS11cC1zZWNyZXQtZm9yLWJlbmNo",)
BATCHES: Mapping[str, int] = {
    "brevo": 500,
    "mailjet": 100,
    "mailtrap": 500,
    "mandrill": 1000,
    "sendgrid": 1000,
    "sparkpost": 350,
    "unisender_go": 100,
}
# Of those whose body is no bare list, the member that holds it.
LISTS = {"mailtrap": "events", "unisender_go": "events_by_user"}

AWS_TOPIC = "arn:aws:sns:eu-west-1:123456789012:made-up"
AWS_CERTIFICATE = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"
SCALEWAY_TOPIC = "arn:scw:sns:fr-par:project-made-up:made-up"
SCALEWAY_CERTIFICATE = "https://messaging.s3.fr-par.scw.cloud/fr-par/sns/made-up.pem"


def made() -> dict[str, Provider]:
    """Name → provider, of all there are; each can sign, and whatever certificate it fetches is that of our key."""
    rsa, p256 = key_pairs.rsa_2048, key_pairs.p256
    certificate = key_pairs.certificate(rsa())
    return {
        "brevo": brevo.brevo(SECRET),
        "cloudflare": Cloudflare(SECRET),
        "mailersend": mailersend.mailersend(SECRET),
        "mailgun": mailgun.mailgun(SECRET),
        "mailjet": mailjet.mailjet(SECRET),
        "mailtrap": mailtrap.mailtrap(SECRET),
        "mandrill": mandrill.mandrill(SECRET, ("https://mail.example.com/webhooks/mandrill",)),
        "postal": postal.postal((key_pairs.public_text(rsa()),), rsa),
        "postmark": postmark.postmark(SECRET),
        "resend": Resend(SECRET),
        "scaleway": scaleway.composed(
            (SCALEWAY_TOPIC,), lambda _url: certificate, signer=Signer(rsa(), SCALEWAY_CERTIFICATE)
        ),
        "sendgrid": sendgrid.sendgrid((key_pairs.public_text(p256()),), p256),
        "ses": ses.composed((AWS_TOPIC,), lambda _url: certificate, signer=Signer(rsa(), AWS_CERTIFICATE)),
        "sparkpost": sparkpost.sparkpost(SECRET),
        "unisender_go": unisender_go.unisender_go(SECRET),
    }


def hard_bounces(provider: Provider, at: datetime, start: int = 0) -> Post:
    """A genuine post, sent `at` that moment, of as many hard bounces as `provider` has in one body; their recipients
    and mails are numbered from `start`."""
    numbers = range(start, start + BATCHES.get(provider.name, 1))
    bodies = [
        provider.sample(Kind.HARD_BOUNCE, f"user{number}@example.com", f"mail-{number:012d}", at) for number in numbers
    ]
    body = _joined(provider.name, bodies) if provider.name in BATCHES else bodies[0]
    return provider.sign(body, f"post-{start}", at)


def _joined(name: str, bodies: Sequence[bytes]) -> bytes:
    """One body with the events of all `bodies`."""
    if name == "mandrill":
        return form([event for body in bodies for event in json.loads(url_form.pairs(body, 1)[0][1])])
    parsed = [json.loads(body) for body in bodies]
    if name in LISTS:
        whole = parsed[0] | {LISTS[name]: [event for one in parsed for event in one[LISTS[name]]]}
    else:
        whole = [event for one in parsed for event in (one if isinstance(one, list) else [one])]
    return (json.dumps(whole, separators=(",", ":")) + (END if name == "sendgrid" else "")).encode()
