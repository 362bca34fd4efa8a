"""Mailgun's proof: what it promises, and that one token is all that holds a captured proof back."""

import hmac
import json
from dataclasses import replace
from datetime import datetime
from urllib.parse import parse_qsl, urlencode

import pytest

from core.events import Kind
from providers.base import Post
from providers.composed import Composed
from providers.mailgun import WINDOW_S, mailgun
from providers.signatures import Refusal
from tests.unit.providers.security_cases import SENT_AT, SecurityCases

JANE = "jane@example.com"
PROOF = ("timestamp", "token", "signature")
FORM = "application/x-www-form-urlencoded"
LEGACY_SAMPLES: dict[Kind, dict[str, str]] = {
    Kind.DELIVERED: {"event": "delivered"},
    Kind.SOFT_BOUNCE: {"event": "bounced", "code": "452"},
    Kind.HARD_BOUNCE: {"event": "bounced", "code": "550"},
    Kind.COMPLAINT: {"event": "complained"},
    Kind.UNSUBSCRIBED: {"event": "unsubscribed"},
    Kind.REJECTED: {"event": "dropped", "reason": "old"},
    Kind.OTHER: {"event": "opened"},
}


def signed(secret: str, timestamp: str, token: str) -> str:
    return hmac.digest(secret.encode(), f"{timestamp}{token}".encode(), "sha256").hex()


def legacy_sample(kind: Kind, recipient: str, message_id: str, occurred_at: datetime) -> bytes:
    if kind not in LEGACY_SAMPLES:
        raise ValueError(f"legacy webhooks have no event for {kind}")
    fields = LEGACY_SAMPLES[kind] | {"recipient": recipient, "Message-Id": f"<{message_id}@example.org>"}
    return urlencode(fields, safe="@").encode()


class TestSecurity(SecurityCases):
    name = "mailgun"
    signature_header = None
    covers_body = False
    window_s = WINDOW_S

    def make(self, *secrets: str) -> Composed:
        return mailgun(secrets, tolerance_s=300)

    def without_proof(self, post: Post) -> Post:
        body = json.loads(post.body)
        del body["signature"]
        return Post(post.headers, json.dumps(body).encode())

    def with_proof(self, **changes: object) -> Post:
        """A genuine post in which members of the signature are replaced, or removed where None."""
        body = json.loads(self.post().body)
        proof = body["signature"] | changes
        body["signature"] = {name: value for name, value in proof.items() if value is not None}
        return Post({}, json.dumps(body).encode())

    def test_an_old_signature_under_another_event_is_genuine_and_carries_its_token_to_the_consumer(self) -> None:
        body = json.loads(self.post(kind=Kind.DELIVERED).body)
        forged = json.loads(self.post(kind=Kind.HARD_BOUNCE).body) | {"signature": body["signature"]}
        request = self.request(Post({}, json.dumps(forged).encode()))

        assert self.make(self.secret).verify(request) == "1 of 1"
        (event,) = self.make(self.secret).normalise(request).events
        assert (event.kind, event.single_use) == (Kind.HARD_BOUNCE, f"mailgun:{body['signature']['token']}")

    @pytest.mark.parametrize("moved", [1, -1])
    def test_a_digit_moved_between_time_and_token_makes_no_new_token(self, moved: int) -> None:
        proof = json.loads(self.post().body)["signature"]
        content = proof["timestamp"] + proof["token"]
        shifted = {"timestamp": content[: 10 + moved], "token": content[10 + moved :]}

        assert signed(self.secret, **shifted) == proof["signature"]
        assert self.refusal(self.with_proof(**shifted)) == Refusal.MALFORMED_TIMESTAMP

    @pytest.mark.parametrize("length", [0, 1, 49, 51, 5000])
    def test_a_token_of_another_length_is_refused_even_if_signed(self, length: int) -> None:
        timestamp = json.loads(self.post().body)["signature"]["timestamp"]
        token = "a" * length
        refusal = self.refusal(self.with_proof(token=token, signature=signed(self.secret, timestamp, token)))

        assert refusal == (Refusal.MALFORMED_ID if length else Refusal.MISSING_HEADERS)

    @pytest.mark.parametrize(
        "token", [" " * 50, "a" * 49 + "\n", "\u0661" * 50, "\ud800" * 50, 5, True, ["a" * 50], {}]
    )
    def test_a_token_of_odd_characters_is_refused(self, token: object) -> None:
        assert self.refusal(self.with_proof(token=token)) in {Refusal.MALFORMED_ID, Refusal.MISSING_HEADERS}

    @pytest.mark.parametrize(
        "timestamp",
        ["1", "17644176000", "1764417600 ", "+176441760", "1_64417600", "\u0661" * 10, "1764417600.0", 1.5e9, []],
    )
    def test_a_time_that_is_not_ten_digits_is_refused_even_if_signed(self, timestamp: object) -> None:
        token = json.loads(self.post().body)["signature"]["token"]
        post = self.with_proof(timestamp=timestamp, signature=signed(self.secret, str(timestamp), token))

        assert self.refusal(post) in {Refusal.MALFORMED_TIMESTAMP, Refusal.MISSING_HEADERS}

    def test_a_time_may_be_written_as_a_number(self) -> None:
        timestamp = json.loads(self.post().body)["signature"]["timestamp"]

        assert self.make(self.secret).verify(self.request(self.with_proof(timestamp=int(timestamp)))) == "1 of 1"

    @pytest.mark.parametrize("member", ["timestamp", "token", "signature"])
    @pytest.mark.parametrize("value", [None, ""])
    def test_a_proof_that_lacks_a_member_is_missing(self, member: str, value: object) -> None:
        assert self.refusal(self.with_proof(**{member: value})) == Refusal.MISSING_HEADERS

    @pytest.mark.parametrize(
        "signature", ["0" * 64, "0" * 63, "g" * 64, "\ud800" * 64, "\u00ff", "0" * 9000, 5, ["0"], {}]
    )
    def test_a_signature_that_is_none_is_refused(self, signature: object) -> None:
        assert self.refusal(self.with_proof(signature=signature)) in {Refusal.BAD_SIGNATURE, Refusal.MISSING_HEADERS}

    def test_a_signature_in_capitals_is_refused(self) -> None:
        genuine = json.loads(self.post().body)["signature"]["signature"]

        assert self.refusal(self.with_proof(signature=genuine.upper())) == Refusal.BAD_SIGNATURE

    @pytest.mark.parametrize("key", [b"", b"None", b"key-0123456789abcdef"])
    def test_a_proof_under_the_empty_key_or_the_api_key_is_a_bad_signature(self, key: bytes) -> None:
        proof = json.loads(self.post().body)["signature"]
        made = hmac.digest(key, f"{proof['timestamp']}{proof['token']}".encode(), "sha256").hex()

        assert self.refusal(self.with_proof(signature=made)) == Refusal.BAD_SIGNATURE

    @pytest.mark.parametrize("signature", [None, [], "x", 5, {}, [{"token": "x"}]])
    def test_a_signature_object_that_is_none_is_missing(self, signature: object) -> None:
        body = json.loads(self.post().body) | {"signature": signature}

        assert self.refusal(Post({}, json.dumps(body).encode())) == Refusal.MISSING_HEADERS

    def test_an_event_of_a_subaccount_is_proved_by_the_main_accounts_key_alone(self) -> None:
        proof = json.loads(self.post().body)["signature"]
        own = signed("the-key-of-the-subaccount", proof["timestamp"], proof["token"])
        post = self.with_proof(**{"signature": own, "parent-signature": proof["signature"]})

        assert self.make(self.secret).verify(self.request(post)) == "1 of 1"
        assert self.refusal(self.with_proof(**{"signature": own, "parent-signature": own})) == Refusal.BAD_SIGNATURE

    @pytest.mark.parametrize("age_s", [400, 8 * 3600 + 1])
    def test_a_post_that_mailgun_has_retried_for_hours_is_fresh(self, age_s: int) -> None:
        assert self.make(self.secret).verify(self.request(self.post(), age_s=age_s)) == "1 of 1"

    def test_every_post_that_is_signed_here_has_a_token_of_its_own(self) -> None:
        provider = self.make(self.secret)
        bodies = [provider.sample(kind, JANE, "evt_1", SENT_AT) for kind in Kind]
        posts = [provider.sign(body, message_id, SENT_AT) for body in bodies for message_id in ("evt_1", "evt_2")]

        assert len({json.loads(post.body)["signature"]["token"] for post in posts}) == 2 * len(Kind)


class TestLegacySecurity(SecurityCases):
    """The shared cases with the proof among the fields of a form."""

    name = "mailgun"
    signature_header = None
    covers_body = False
    window_s = WINDOW_S
    kinds_never_told = frozenset({Kind.ACCEPTED, Kind.DEFERRED})

    def make(self, *secrets: str) -> Composed:
        return replace(mailgun(secrets, tolerance_s=300), make_sample=legacy_sample)

    def without_proof(self, post: Post) -> Post:
        fields = [(name, value) for name, value in parse_qsl(post.body.decode()) if name not in PROOF]
        return Post(post.headers, urlencode(fields, safe="@").encode())

    def test_the_proof_is_the_last_of_fields_with_its_names(self) -> None:
        post, variables = self.post(), urlencode(dict.fromkeys(PROOF, "a variable of the mail")).encode()

        assert self.make(self.secret).verify(self.request(Post({}, variables + b"&" + post.body))) == "1 of 1"
        assert self.refusal(Post({}, post.body + b"&" + variables)) == Refusal.MALFORMED_TIMESTAMP

    def test_one_proof_has_one_token_in_a_form_and_in_json(self) -> None:
        form = self.request(self.post())
        proof = dict(parse_qsl(form.body.decode()))
        body = {
            "signature": {name: proof[name] for name in PROOF},
            "event-data": {"event": "complained", "recipient": JANE},
        }
        as_json = self.request(Post({}, json.dumps(body).encode()))
        provider = self.make(self.secret)

        assert provider.verify(form) == provider.verify(as_json) == "1 of 1"
        tokens = {event.single_use for one in (form, as_json) for event in provider.normalise(one).events}
        assert tokens == {f"mailgun:{proof['token']}"}

    def test_a_form_of_endless_fields_is_refused_before_it_is_read(self) -> None:
        assert self.refusal(Post({}, b"a&" * 500_000 + self.post().body)) == Refusal.MISSING_HEADERS
