"""What the demo posts, and what must come of it: pure, so that the demo can be checked against its own plan."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.events import Kind
from providers.base import Provider

RECIPIENTS = 1000
NEW_CONSENT = "newconsent@example.com"
WRONG_TYPE = "hash@example.org"  # its record is a Redis hash at first, which no consumer can judge


@dataclass(frozen=True, slots=True)
class Post:
    """One webhook request; `forged` means that it is signed with a secret that mailward does not have."""

    provider: str
    message_id: str
    body: bytes
    forged: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Posts of one sort: whom they concern, and whether those people's records must be gone at the end."""

    title: str
    posts: tuple[Post, ...]
    addresses: tuple[str, ...] = ()
    gone: bool = False


@dataclass(frozen=True, slots=True)
class _Sort:
    title: str
    provider: str
    kind: Kind
    count: int
    gone: bool = False


_SORTS = (
    _Sort("Resend: delivered", "resend", Kind.DELIVERED, 300),
    _Sort("Resend: opened (counted only)", "resend", Kind.OTHER, 60),
    _Sort("Resend: soft bounce", "resend", Kind.SOFT_BOUNCE, 50),
    _Sort("Resend: hard bounce", "resend", Kind.HARD_BOUNCE, 40, gone=True),
    _Sort("Resend: complaint", "resend", Kind.COMPLAINT, 30, gone=True),
    _Sort("Cloudflare: delivered", "cloudflare", Kind.DELIVERED, 80),
    _Sort("Cloudflare: soft bounce", "cloudflare", Kind.SOFT_BOUNCE, 20),
    _Sort("Cloudflare: hard bounce", "cloudflare", Kind.HARD_BOUNCE, 25, gone=True),
    _Sort("Cloudflare: complaint", "cloudflare", Kind.COMPLAINT, 15, gone=True),
)
REPEATS = 20


def recipients() -> list[str]:
    """The addresses that have a record before the first event."""
    return [f"reader{number:04}@example.com" for number in range(RECIPIENTS - 2)] + [NEW_CONSENT, WRONG_TYPE]


def groups(providers: Mapping[str, Provider], now: datetime) -> list[Group]:
    """Everything that is posted, in order; repeats come last so that they repeat what has been applied."""
    addresses = iter(recipients())
    made = [_of_sort(sort, providers, addresses, now) for sort in _SORTS]
    removing = [post for group in made if group.gone for post in group.posts]
    resend = providers["resend"]
    made.append(_one("Hard bounce of somebody unknown", resend, "unknown@example.net", now))
    made.append(_one("Complaint older than the consent", resend, NEW_CONSENT, now - timedelta(days=30)))
    made.append(Group("Unreadable, but signed: parked", (Post("resend", "demo_unreadable", b'{"type": "email.bo'),)))
    made.append(_two_recipients(resend, list(addresses)[:2], now))
    made.append(_forged(resend, recipients()[-3], now))
    made.append(_one("Complaint that cannot be applied at first", resend, WRONG_TYPE, now, gone=True))
    made.append(Group("Repeats of removals", tuple(removing[:REPEATS])))
    return made


def _of_sort(sort: _Sort, providers: Mapping[str, Provider], addresses: Iterator[str], now: datetime) -> Group:
    mine = tuple(next(addresses) for _ in range(sort.count))
    provider = providers[sort.provider]
    posts = tuple(
        _post(provider, sort.kind, address, f"demo_{sort.provider}_{sort.kind}_{address[:10]}", now) for address in mine
    )
    return Group(sort.title, posts, mine, sort.gone)


def _post(provider: Provider, kind: Kind, address: str, message_id: str, occurred_at: datetime) -> Post:
    return Post(provider.name, message_id, provider.sample(kind, address, message_id, occurred_at))


def _one(title: str, provider: Provider, address: str, occurred_at: datetime, *, gone: bool = False) -> Group:
    post = _post(
        provider,
        Kind.COMPLAINT if gone else Kind.HARD_BOUNCE,
        address,
        f"demo_{address.partition('@')[0]}",
        occurred_at,
    )
    return Group(title, (post,), (address,), gone)


def _two_recipients(provider: Provider, addresses: Sequence[str], now: datetime) -> Group:
    body = json.loads(provider.sample(Kind.HARD_BOUNCE, addresses[0], "demo_two", now))
    body["data"]["to"] = list(addresses)
    post = Post(provider.name, "demo_two", json.dumps(body).encode())
    return Group("Hard bounce of one of two recipients: parked", (post,), tuple(addresses))


def _forged(provider: Provider, address: str, now: datetime) -> Group:
    body = provider.sample(Kind.COMPLAINT, address, "demo_forged", now)
    return Group("Forged complaint: refused", (Post(provider.name, "demo_forged", body, forged=True),), (address,))
