"""Postal (self-hosted): one event per post, signed with the RSA key of the installation.

Sources: postalserver/postal (app/services/webhook_delivery_service.rb, lib/postal/http.rb, lib/postal/signer.rb),
docs.postalserver.io, django-anymail's webhooks/postal.py.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

from cryptography.hazmat.primitives import hashes

from config.settings import Settings
from providers import items, payload, tag_texts
from providers.base import Answers
from providers.composed import Composed
from providers.conditions import comparable, found
from providers.entry import Entry, Fetch
from providers.items import Said
from providers.public_keys import PrivateKey, read_key, read_private_key
from providers.rsa_body import RsaBody
from providers.rules import Classifier
from providers.samples import postal as samples
from providers.tables.postal import TABLE

NAME = "postal"
SETTING = "POSTAL_PUBLIC_KEYS"
ANSWERS = Answers(deadline_s=4.0)  # Postal gives up at 5 s
POLICY = "postal_any_5xx_is_hard"
# Older versions of Postal have the second alone. SHA-1 can be made to collide, but only by whoever writes the body.
HEADERS = {"x-postal-signature-256": hashes.SHA256(), "x-postal-signature": hashes.SHA1()}  # noqa: S303

DETAILS = {"payload": ("status", "details", "output")}


def postal(
    keys: Sequence[str],
    private_key: Callable[[], PrivateKey],
    *,
    keep_local_case: bool = False,
    any_5xx_is_hard: bool = False,
) -> Composed:
    """The Postal provider; `keys` are the public keys of its installations, `private_key` makes posts for tests.

    Raises ValueError where there is no key or one that is not RSA.
    """
    scheme = RsaBody([read_key(key) for key in keys], private_key, HEADERS)
    said = partial(_said, TABLE.ready({POLICY: any_5xx_is_hard}))
    read = partial(items.normalised, NAME, _batch, said, keep_local_case)
    return Composed(NAME, scheme, read, samples.sample, ANSWERS)


def _batch(body: bytes) -> list[object]:
    return [payload.read_event(body, "event")]


def _said(classifier: Classifier, body: dict[str, object], received_at: datetime) -> Iterator[Said]:
    mail, moment = _mail(body), body.get("timestamp")
    own_id = payload.identifier(body.get("uuid"))
    yield Said(
        verdict=classifier.judge(body),
        recipient=mail.get("to"),
        event_id=own_id or payload.composite(body["event"], mail.get("to"), mail.get("message_id"), moment),
        occurred_at=payload.unix_moment(moment, received_at),
        provider_message_id=payload.identifier(mail.get("message_id")),
        tags=tag_texts.named(mail.get("tag")),
        detail=payload.detail(body, DETAILS),
    )


def _mail(body: dict[str, object]) -> dict[str, object]:
    """The mail of ours that the event is about. Of a bounce it is the original one: the bounce itself is a mail from a
    remote postmaster to Postal's return path, and neither address is a recipient."""
    name = "original_message" if comparable(body.get("event")) == "messagebounced" else "message"
    mail = found(body, f"payload.{name}")
    return mail if isinstance(mail, dict) else {}


def make(settings: Settings, _fetch: Fetch) -> Composed | None:
    """Postal as `settings` say, or None without its keys. Raises ValueError for a key that is none."""
    if not settings.providers.postal_public_keys:
        return None
    try:
        return postal(
            settings.providers.postal_public_keys,
            partial(read_private_key, settings.providers.test_private_key),
            keep_local_case=settings.keep_local_case,
            any_5xx_is_hard=settings.providers.postal_any_5xx_is_hard,
        )
    except ValueError as error:
        raise ValueError(f"{SETTING} {error}") from None


ENTRY = Entry(
    title="Postal",
    setting=SETTING,
    proof="RSA over the body (SHA-256; SHA-1 of a Postal without it); no time, so old posts can be repeated",
    make=make,
    setup=(
        "In Postal, your mail server, Webhooks, add `https://<your app>/webhooks/postal`, for all events or for "
        "MessageSent, MessageDelayed, MessageDeliveryFailed, MessageHeld and MessageBounced.",
        "Run `postal default-dkim-record` and copy what stands between `p=` and `;` into `POSTAL_PUBLIC_KEYS`.",
        "Where a post has X-Postal-Signature-256, that alone counts; X-Postal-Signature (SHA-1) does only without it.",
        "Postal tells no complaints, and removes only on 5.1.x answers; `POSTAL_ANY_5XX_IS_HARD=true` adds every 5xx.",
        "The one `tag` of a mail finds its campaign again: "
        "`mailward_env=…;mailward_campaign=…;mailward_recipient=…`, 255 characters at most.",
        "`mailward send-test-event` needs an RSA pair of your own: the public half in `POSTAL_PUBLIC_KEYS`, too, the "
        "path of the private one (PEM) in `TEST_PRIVATE_KEY`.",
    ),
    tables={NAME: TABLE},
)
