"""Hostile, malformed and merely odd webhook posts, each with what may come of it.

Every case is about VICTIM, whose number is filled in when it is posted, so that each has a victim of its own.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from tests.e2e import posts
from tests.e2e.posts import cloudflare, cloudflare_bounce, resend, resend_bounce

VICTIM = "victim-00000@example.com"
NUMBER = b"00000"
BYSTANDER = "bystander@example.net"  # named in many bodies, never as affected
CONSENTED = "consented@example.net"  # signed up again long after every event


class Fate(Enum):
    """What may become of the victim's record."""

    GOES = "the body is a well-formed complaint or hard bounce about the victim alone"
    STAYS = "it is none"
    EITHER = "it was damaged at random: it may be none any more"


@dataclass(frozen=True)
class Case:
    """A body and its victim's fate; `damage` breaks the proof or adds odd headers."""

    provider: str
    body: bytes
    fate: Fate
    damage: str = ""

    def of(self, number: int) -> bytes:
        """The body about victim `number`."""
        return self.body.replace(NUMBER, b"%05d" % number)


def victim(number: int) -> str:
    return VICTIM.replace(NUMBER.decode(), f"{number:05}")


TRICKS = (
    f"{VICTIM}, {BYSTANDER}",
    f"{VICTIM};{BYSTANDER}",
    f"{VICTIM} {BYSTANDER}",
    f"<{VICTIM}> <{BYSTANDER}>",
    f"{BYSTANDER} <{VICTIM}>",
    f"{VICTIM}\x00",
    f"\x00{VICTIM}",
    "vic\u200btim-00000@example.com",
    f"{VICTIM}\r\nBcc: {BYSTANDER}",
    f"{VICTIM}(comment)",
    "victim-00000@example.com@example.net",
    "victim-00000",
    "@example.com",
    "victim-00000@",
    "victim-00000@[127.0.0.1]",
    "victim-00000@exa mple.com",
    "\ud800victim-00000@example.com",
    "vict\u0456m-00000@example.com",  # a Cyrillic i: somebody else
    "victim-00000@ex\u0430mple.com",  # a Cyrillic a: another domain
    "*",
    "victim-*@example.com",
    "victim-0000?@example.com",
    "{address}",
    "",
    " ",
    "x" * 5000 + "@example.com",
    f'"{VICTIM}" <{BYSTANDER}>, {VICTIM}',
)
FORMS = (  # of the victim's own address: one person, written oddly
    VICTIM,
    VICTIM.upper(),
    f"  {VICTIM}\t",
    f"<{VICTIM}>",
    f"Made Up <{VICTIM}>",
    f'"Up, Made" <{VICTIM.title()}>',
    f'"{VICTIM}" <{VICTIM}>',
    f"M\u00e4de \U0001f600 <{VICTIM}>",
)
TIMES: tuple[Any, ...] = (
    "9999-12-31T23:59:59-14:00",
    "2999-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "1970-01-01",
    "yesterday",
    "2026-02-30T00:00:00Z",
    "",
    None,
    -1,
    10**400,
    1e308,
    True,
    [],
    {"$date": 0},
    "2026-11-22T23:41:12.126Z" * 100,
)
TEXTS = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=()), max_size=40),  # lone surrogates and controls included
    st.sampled_from(["\x00", "\x1b[2J", "\u202e\u2028", "'; DROP TABLE journal; --", "{{7*7}}", "%n%s", BYSTANDER]),
)
HUGE = st.sampled_from([1_000, 100_000, 1_000_000]).map(lambda size: "5.1.1 no such user " * (size // 19))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.just(10**400)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=6,
)


def dumped(payload: Any, *, ascii_only: bool = True) -> bytes:
    return json.dumps(payload, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


def removing(to: Any) -> dict[str, list[dict[str, Any]]]:
    """Payloads of each provider that remove whoever `to` is."""
    return {
        "resend": [resend("complained", [to]), resend_bounce([to]), resend_bounce(to)],
        "cloudflare": [cloudflare("complained", to), cloudflare_bounce(to)],
    }


def harmless() -> dict[str, list[Any]]:
    """Payloads of each provider about the victim that remove nobody."""
    to = [VICTIM]
    data = resend("complained", to)
    return {
        "resend": [
            resend("delivered", to),
            resend("scheduled", to),
            resend("complain\u0435d", to),  # a Cyrillic e
            resend("complained ", to),
            resend("", to),
            resend("suppressed", to, suppressed={"reason": "previous_bounce"}),
            resend_bounce(to, type="Transient", subType="MailboxFull"),
            resend_bounce(to, subType="MailboxFull"),
            resend_bounce(to, subType="OnAccountSuppressionList"),
            resend_bounce(to, subType="SomethingNew"),
            resend_bounce(to, type="Permanently"),
            resend_bounce(to, type=["Permanent"]),
            resend_bounce(to, type=None),
            resend_bounce(to, subType={"General": True}),
            resend("bounced", to),
            resend("bounced", to, bounce="Permanent"),
            resend("complained", [VICTIM, BYSTANDER]),
            resend("complained", to, cc=[BYSTANDER]),
            resend("complained", to, bcc=BYSTANDER),
            resend("complained", [VICTIM, *(f"reader{number}@example.org" for number in range(3000))]),
            resend("complained", [to]),
            resend("complained", {"0": VICTIM}),
            resend("complained", []),
            resend("complained", None),
            resend("complained", 0),
            data | {"type": ["email.complained"]},
            data | {"type": None},
            data | {"data": [data["data"]]},
            data | {"data": json.dumps(data["data"])},
            [data],
            {"type": "contact.updated", "data": {"email": VICTIM, "unsubscribed": True}},
            {"type": "suppression.added", "data": {"email": VICTIM}},
            {"type": "domain.updated", "data": {"name": "example.com"}},
            {"events": [data]},
            resend("complained", [CONSENTED]),
        ],
        "cloudflare": [
            cloudflare("delivered", VICTIM),
            cloudflare("rejected", VICTIM, rejection={"reason": "suppressed"}),
            cloudflare("invented", VICTIM),
            cloudflare_bounce(VICTIM, type="soft"),
            cloudflare_bounce(VICTIM, type="hardly"),
            cloudflare_bounce(VICTIM, type=["hard"]),
            cloudflare_bounce(VICTIM, type=None),
            cloudflare("bounced", VICTIM),
            cloudflare("bounced", VICTIM, bounce="hard"),
            cloudflare("deferred", VICTIM, bounce={"type": "hard"}),
            cloudflare("complained", [VICTIM]),
            cloudflare("complained", {"email": VICTIM}),
            cloudflare("complained", None),
            cloudflare("complained", 7),
            cloudflare("complained", VICTIM) | {"metadata": {"eventSchemaVersion": 2}},
            cloudflare("complained", VICTIM) | {"type": "cf.email.sending.message.complained.v2"},
            cloudflare("complained", VICTIM) | {"payload": [{"recipient": VICTIM}]},
            [cloudflare("complained", VICTIM)],
            cloudflare("complained", CONSENTED),
        ],
    }


def broken(whole: bytes) -> list[bytes]:
    """Bytes that are no JSON object any more."""
    return [
        whole[: len(whole) // 2],
        whole[:-1],
        whole + whole,
        whole + b"\x00",
        b"\xef\xbb\xbf" + whole,
        whole.decode().encode("utf-16"),
        whole.replace(b"News", b"N\xffws").replace(b"made-up", b"made\xfeup"),
        whole.replace(b"made-up-mail", b"made\x00up"),  # a raw control character is no JSON
        whole.replace(b'"made-up-mail"', b"NaN"),
        whole.replace(b'"made-up-mail"', b"-Infinity"),
        whole.replace(b'"made-up-mail"', b"9" * 5000),
        whole.replace(b'"made-up-mail"', b"[" * 100_000 + b"]" * 100_000),
        whole.replace(b'"', b"'"),
        json.dumps(whole.decode()).encode(),
        b"",
        b"null",
        b"\x1f\x8b\x08\x00" + whole,
        b"payload=" + whole,
    ]


@st.composite
def oddly_written(draw: st.DrawFn) -> Case:
    """A well-formed removal with whatever may differ without changing its meaning."""
    provider = draw(st.sampled_from(["resend", "cloudflare"]))
    payload = draw(st.sampled_from(removing(draw(st.sampled_from(FORMS)))[provider]))
    section = payload["data" if provider == "resend" else "payload"]
    section["unheard of"] = draw(VALUES)
    if "bounce" in section:
        section["bounce"][draw(st.sampled_from(["diagnosticCode", "message", "reason"]))] = draw(VALUES | HUGE)
    when = draw(st.sampled_from(TIMES))
    if provider == "resend":
        payload["created_at"] = when
        section["tags"] = draw(VALUES)
        section["email_id"] = draw(VALUES)
    else:
        payload["metadata"]["eventTimestamp"] = when
        section["messageId"] = draw(VALUES)
    readable = not any(text in json.dumps(payload) for text in ("NaN", "Infinity", "0" * 400))
    body = dumped(payload, ascii_only=readable and draw(st.booleans()))
    fate = Fate.GOES if readable and is_utf8(body) else Fate.EITHER
    return Case(provider, body, fate)


@st.composite
def meaning_nothing(draw: st.DrawFn) -> Case:
    """A body that removes nobody: another kind, several people, no address, no JSON."""
    provider = draw(st.sampled_from(["resend", "cloudflare"]))
    trick = draw(st.sampled_from(TRICKS))
    bodies: list[Callable[[], bytes]] = [
        lambda: dumped(draw(st.sampled_from(harmless()[provider]))),
        lambda: dumped(draw(st.sampled_from(removing(trick)[provider]))),
        lambda: draw(st.sampled_from(broken(dumped(removing(VICTIM)[provider][0])))),
        lambda: draw(st.binary(max_size=200)),
        lambda: dumped(draw(VALUES)),
    ]
    return Case(provider, draw(st.sampled_from(bodies))(), Fate.STAYS)


@st.composite
def damaged(draw: st.DrawFn) -> Case:
    """A removal of which some values, or some bytes, have become something else."""
    provider = draw(st.sampled_from(["resend", "cloudflare"]))
    payload = draw(st.sampled_from(removing(VICTIM)[provider]))
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(places(payload)))
        container[key] = draw(VALUES)
    body = dumped(payload, ascii_only=draw(st.booleans()))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(body)))
        body = body[:at] + draw(st.binary(max_size=6)) + body[at + draw(st.integers(0, 3)) :]
    return Case(provider, body, Fate.EITHER)


PROOFS = (
    "no headers", "other secret", "stale", "future", "no signature", "empty signature", "signature not base64",
    "signature not ascii", "other version", "unpadded", "doubled id", "doubled timestamp", "doubled signature",
    "comma-joined signatures", "id with a dot", "id not ascii", "timestamp not digits", "timestamp huge",
    "negative timestamp", "ten thousand signatures", "other names mixed", "a byte more", "home-made secret",
)  # fmt: skip
ODD_BUT_GENUINE = (
    "rotation",
    "other names",
    "huge cookie",
    "headers not ascii",
    "no content type",
    "form content type",
)


def unproven() -> st.SearchStrategy[Case]:
    """A well-formed removal without a valid proof."""
    return st.builds(
        lambda case, damage: Case(case.provider, case.body, Fate.STAYS, damage),
        oddly_written().filter(lambda case: len(case.body) < 50_000),
        st.sampled_from(PROOFS),
    )


def oddly_sent() -> st.SearchStrategy[Case]:
    """A genuine removal among headers that are odd, but none of the proof's business."""
    return st.builds(
        lambda case, damage: Case(case.provider, case.body, case.fate, damage),
        oddly_written().filter(lambda case: len(case.body) < 50_000),
        st.sampled_from(ODD_BUT_GENUINE),
    )


def cases() -> st.SearchStrategy[Case]:
    """Everything above, in equal shares."""
    return st.one_of(oddly_written(), meaning_nothing(), damaged(), unproven(), oddly_sent())


def headers(case: Case, body: bytes, message_id: str) -> posts.Headers:
    """The headers of a post of `case`, with its damage."""
    provider, prefix = case.provider, posts.PREFIX[case.provider]
    genuine = dict(posts.signed(provider, body, message_id))
    proof = genuine[f"{prefix}-signature"]
    stamp = str(genuine[f"{prefix}-timestamp"])
    assert isinstance(proof, str)

    def changed(name: str, value: str | bytes) -> posts.Headers:
        return list((genuine | {f"{prefix}-{name}": value}).items())

    def resigned(message_id: str, timestamp: str) -> posts.Headers:
        return [
            (f"{prefix}-id", message_id.encode("latin-1")),
            (f"{prefix}-timestamp", timestamp),
            (f"{prefix}-signature", posts.signature(posts.SECRETS[provider], message_id, timestamp, body)),
        ]

    whole = list(genuine.items())
    other = "webhook" if prefix == "svix" else "svix"
    made: dict[str, Callable[[], posts.Headers]] = {
        "": lambda: whole,
        "no headers": lambda: [],
        "other secret": lambda: posts.signed(provider, body, message_id, secret="whsec_" + "b3RoZXIgc2VjcmV0ISEhIQ=="),
        "stale": lambda: posts.signed(provider, body, message_id, age_s=3600),
        "future": lambda: posts.signed(provider, body, message_id, age_s=-3600),
        "no signature": lambda: whole[:2],
        "empty signature": lambda: changed("signature", ""),
        "signature not base64": lambda: changed("signature", "v1,!!!=== v1,é".encode("latin-1")),
        "signature not ascii": lambda: changed("signature", b"v1,\xff\xfe\xe2\x82\xac"),
        "other version": lambda: changed("signature", proof.replace("v1,", "v1a,")),
        "unpadded": lambda: changed("signature", proof.rstrip("=")[:-1]),
        "doubled id": lambda: [*whole, (f"{prefix}-id", "msg_other")],
        "doubled timestamp": lambda: [*whole, (f"{prefix}-timestamp", stamp)],
        "doubled signature": lambda: [*whole, (f"{prefix}-signature", "v1,AAAA")],
        "comma-joined signatures": lambda: changed("signature", f"{proof},v1,AAAA"),
        "id with a dot": lambda: resigned(f"{message_id}.{stamp}", stamp),
        "id not ascii": lambda: resigned(f"{message_id}\xe9", stamp),
        "timestamp not digits": lambda: resigned(message_id, "now"),
        "timestamp huge": lambda: resigned(message_id, "9" * 4000),
        "negative timestamp": lambda: resigned(message_id, f"-{stamp}"),
        "ten thousand signatures": lambda: changed("signature", " ".join(["v1,AAAA"] * 900)),
        "other names mixed": lambda: [(f"{other}-id", message_id), *whole[1:]],
        "a byte more": lambda: list(posts.signed(provider, body + b" ", message_id)),
        "home-made secret": lambda: [("x-webhook-secret", posts.SECRETS[provider])],
        "rotation": lambda: changed("signature", f"v1,AAAA v2,x v1a,AAAA {proof} v1,BBBB"),
        "other names": lambda: posts.signed(provider, body, message_id, prefix=other),
        "huge cookie": lambda: [*whole, ("cookie", "a=" + "b" * 7000)],
        "headers not ascii": lambda: [*whole, ("x-odd", b"\xff\xfe\x80"), ("x-odd", "\xe9".encode())],
        "no content type": lambda: [*whole, ("content-type", "")],
        "form content type": lambda: [*whole, ("content-type", "application/x-www-form-urlencoded; charset=utf-16")],
    }
    return made[case.damage]()


def written_out() -> list[Case]:
    """Every single oddity once, so that none depends on what is drawn."""
    whole = {provider: dumped(removing(VICTIM)[provider][0]) for provider in posts.PREFIX}
    megabyte = "5.1.1 no such user " * 50_000
    timed = [resend("complained", VICTIM) | {"created_at": when} for when in TIMES]
    goes = {
        "resend": [*removing(VICTIM)["resend"], resend_bounce([VICTIM], diagnosticCode=[megabyte]), *timed],
        "cloudflare": [*removing(VICTIM)["cloudflare"], cloudflare_bounce(VICTIM, reason=megabyte)],
    }
    stays = harmless()
    for provider in posts.PREFIX:
        goes[provider] += [payload for form in FORMS for payload in removing(form)[provider]]
        stays[provider] += [payload for trick in TRICKS for payload in removing(trick)[provider]]
    return [
        *(Case(provider, dumped(payload), Fate.GOES) for provider in goes for payload in goes[provider]),
        *(Case(provider, dumped(payload), Fate.STAYS) for provider in stays for payload in stays[provider]),
        *(Case(provider, body, Fate.STAYS) for provider in whole for body in broken(whole[provider])),
        *(Case(provider, whole[provider], Fate.STAYS, damage) for provider in whole for damage in PROOFS),
        *(Case(provider, whole[provider], Fate.GOES, damage) for provider in whole for damage in ODD_BUT_GENUINE),
    ]


def is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside `value`."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in pairs for place in [(value, key), *places(inner)]]
