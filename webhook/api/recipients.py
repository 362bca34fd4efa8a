"""The JSON API for recipients: the same logic as `mailward recipients`, behind a bearer token.

Here is what concerns one address; imports and exports are in webhook.api.recipient_bulk.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import Engine
from werkzeug.exceptions import BadRequest
from werkzeug.routing import PathConverter

from core import admission, recipient_view
from core import restore as restoring
from core.addresses import Address, normalise
from core.recipients import RecipientStore
from webhook.api import errors, media, schemas
from webhook.api.auth import BearerToken
from webhook.api.bodies import UNREADABLE
from webhook.api.recipient_bulk import Many
from webhook.operation import Meaning, describe

RECORD_LIMIT = 1024 * 1024  # bytes of one record

_ONE_ADDRESS = {
    409: Meaning("Its key in Redis holds no string, and is left as it is."),
    422: Meaning("Not one email address, or an `eligible_since` that is no time or in the future."),
}


def blueprint(
    store: RecipientStore,
    engine: Engine,
    tokens: Sequence[str],
    clock: Callable[[], datetime],
    keep_local_case: bool,
) -> Blueprint:
    """The routes, all behind one of `tokens`; raises ValueError where there are none."""
    api = _Recipients(store, engine, clock, keep_local_case)
    many = Many(store, engine, clock, keep_local_case)
    routes = Blueprint("recipients", __name__, url_prefix="/api/recipients")
    BearerToken(tokens).guard(routes)
    errors.register(routes)
    routes.get("")(many.export)
    routes.post("/import")(many.import_)
    routes.record(lambda setup: setup.app.url_map.converters.update(address=_AddressConverter))
    routes.get("/<address:address>")(api.get)
    routes.put("/<address:address>")(api.put)
    routes.delete("/<address:address>")(api.delete)
    routes.get("/<address:address>/why")(api.why)
    routes.post("/<address:address>/restore")(api.restore)
    return routes


class _AddressConverter(PathConverter):
    """A local part may hold a slash, a domain cannot: what follows the domain is not part of an address.

    Any text at all: one that begins with a slash would be redirected to the address without it.
    """

    regex = "(?s:.+?)"
    part_isolating = False


class _Recipients:
    """One method for each route."""

    def __init__(
        self, store: RecipientStore, engine: Engine, clock: Callable[[], datetime], keep_local_case: bool
    ) -> None:
        self._store, self._engine, self._clock, self._keep_local_case = store, engine, clock, keep_local_case

    @describe(
        "A recipient: its records and what blocks it",
        {200: Meaning("Also for an address without records.", schemas.RecipientSchema), **_ONE_ADDRESS},
    )
    def get(self, address: str) -> Response:
        return schemas.answer(schemas.RecipientSchema, schemas.recipient(self._view(address)))

    @describe(
        "Store its record as of now; without a body: let it in again with the record that it has",
        {200: Meaning("The record is stored.", schemas.RecipientSchema), **_ONE_ADDRESS, **UNREADABLE},
        body=media.RECORD,
    )
    def put(self, address: str) -> Response:
        request.max_content_length = RECORD_LIMIT
        record = request.get_data(cache=False) or None
        admission.add(self._store, self._engine, self._address(address), record, self._clock)
        return self.get(address)

    @describe(
        "Delete its records",
        {
            200: Meaning("The records are gone.", schemas.DeletedSchema),
            404: Meaning("It has no record."),
            **_ONE_ADDRESS,
        },
    )
    def delete(self, address: str) -> Response:
        deleted = recipient_view.delete(self._store, self._address(address))
        if not deleted:
            return errors.answer(404, "there is no record of this address")
        return schemas.answer(schemas.DeletedSchema, {"deleted": list(deleted)})

    @describe(
        "What the journal says about it",
        {200: Meaning("The newest first.", schemas.ExplanationSchema), **_ONE_ADDRESS},
    )
    def why(self, address: str) -> Response:
        return schemas.answer(schemas.ExplanationSchema, schemas.explanation(self._view(address)))

    @describe(
        "Put back what was removed, and lift its blocks",
        {
            200: Meaning("Repeating it does no harm.", schemas.RestoredSchema),
            **_ONE_ADDRESS,
            404: Meaning("mailward never removed this address."),
            409: Meaning("There is a newer record (`force` replaces it), or its key in Redis holds no string."),
            422: Meaning("Not one email address, or not such a request."),
            **UNREADABLE,
        },
        body=(schemas.RestoreRequest,),
    )
    def restore(self, address: str) -> Response:
        request.max_content_length = RECORD_LIMIT
        asked = schemas.RestoreRequest().load(_json(request.get_data(cache=False)))
        normal = self._address(address).normal
        done = restoring.restore(self._store, self._engine, normal, force=asked["force"], clock=self._clock)
        return schemas.answer(schemas.RestoredSchema, {"restored": done.removals, "rows": done.rows})

    def _view(self, address: str) -> recipient_view.View:
        return recipient_view.view(self._store, self._engine, self._address(address), self._clock)

    def _address(self, text: str) -> Address:
        return normalise(text, keep_local_case=self._keep_local_case)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise BadRequest from None
