"""Who may use the JSON API: bearers of one of the tokens in API_TOKENS. And who that was, for the audit."""

import hashlib
import hmac
import re
from collections.abc import Sequence

from flask import Blueprint, Flask, Response, jsonify, request
from marshmallow import Schema, fields

from webhook.operation import Meaning

REFUSED = Meaning("No bearer token, or none of API_TOKENS.", headers={"WWW-Authenticate": "Bearer."})


class ActorHeader(Schema):
    """See `actor`."""

    actor = fields.String(data_key="X-Actor", metadata={"description": "Who does it, for the audit."})


class BearerToken:
    """A door before every route of a blueprint; a request without a right token gets 401 and goes no further."""

    def __init__(self, tokens: Sequence[str]) -> None:
        """`tokens`: any of them opens (two at once while one is replaced). Raises ValueError if there is none."""
        if not tokens or not all(tokens):
            raise ValueError("an API without tokens would be open to everybody or to nobody")
        self._tokens = [token.encode() for token in tokens]

    def guard(self, blueprint: Blueprint) -> None:
        """Stand before every route of `blueprint`."""
        blueprint.before_request(self)

    def __call__(self) -> Response | None:
        scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
        # Every token is compared, in constant time, so that the answer's delay says nothing about any of them.
        matches = [hmac.compare_digest(presented.strip().encode(errors="replace"), token) for token in self._tokens]
        if scheme.lower() == "bearer" and any(matches):
            return None
        answer: Response = jsonify(error="a bearer token of API_TOKENS is needed")
        answer.status_code = 401
        answer.headers["WWW-Authenticate"] = 'Bearer realm="mailward"'
        return answer


def actor() -> str:
    """Who makes this request: the fingerprint of the token, and what the header X-Actor adds to it (a name, say; who
    holds the token is believed). Only behind a BearerToken.
    """
    _, _, presented = request.headers.get("Authorization", "").partition(" ")
    token = hashlib.sha256(presented.strip().encode(errors="replace")).hexdigest()[:8]
    name = re.sub(r"[^\w.+-]", "_", request.headers.get("X-Actor", "").strip())[:64]
    return f"api:{token}:{name}" if name else f"api:{token}"


def is_guarded(app: Flask, endpoint: str) -> bool:
    """Whether a request for `endpoint` of `app` meets a BearerToken first."""
    blueprint, dot, _ = endpoint.rpartition(".")
    return bool(dot) and any(isinstance(one, BearerToken) for one in app.before_request_funcs.get(blueprint, ()))
