"""The JSON API for recipients: the same logic as `mailward recipients`, behind a bearer token.

GET    /api/recipients                      every record, as NDJSON
POST   /api/recipients/import               NDJSON, or CSV by its content type
GET    /api/recipients/<address>            its records and what blocks it
PUT    /api/recipients/<address>            the body is the record; without one: let it in again as it is
DELETE /api/recipients/<address>
GET    /api/recipients/<address>/why        what the journal says
POST   /api/recipients/<address>/restore    {"force": false}
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from flask import Blueprint, Response, jsonify, request
from sqlalchemy import Engine
from werkzeug.exceptions import BadRequest

from core import admission, recipient_csv, recipient_ndjson, recipient_view
from core import restore as restoring
from core.addresses import Address, normalise
from core.recipient_files import BadLine
from core.recipients import RecipientStore
from webhook.api import errors, schemas
from webhook.api.auth import BearerToken

RECORD_LIMIT = 1024 * 1024  # bytes of one record
IMPORT_LIMIT = 64 * 1024 * 1024  # bytes; more would outlast the 30 s that routers wait: `mailward recipients import`
BAD_LINES = 100  # of an import, shown; all are counted


def blueprint(
    store: RecipientStore,
    engine: Engine,
    tokens: Sequence[str],
    clock: Callable[[], datetime],
    keep_local_case: bool,
) -> Blueprint:
    """The routes, all behind one of `tokens`; raises ValueError where there are none."""
    api = _Recipients(store, engine, clock, keep_local_case)
    routes = Blueprint("recipients", __name__, url_prefix="/api/recipients")
    BearerToken(tokens).guard(routes)
    errors.register(routes)
    routes.get("")(api.export)
    routes.post("/import")(api.import_)
    # A local part may hold a slash, a domain cannot: what follows the domain is not part of an address.
    routes.get("/<path:address>")(api.get)
    routes.put("/<path:address>")(api.put)
    routes.delete("/<path:address>")(api.delete)
    routes.get("/<path:address>/why")(api.why)
    routes.post("/<path:address>/restore")(api.restore)
    return routes


class _Recipients:
    """One method for each route."""

    def __init__(
        self, store: RecipientStore, engine: Engine, clock: Callable[[], datetime], keep_local_case: bool
    ) -> None:
        self._store, self._engine, self._clock, self._keep_local_case = store, engine, clock, keep_local_case

    def get(self, address: str) -> Response:
        found: Response = jsonify(schemas.recipient(self._view(address)))
        return found

    def put(self, address: str) -> Response:
        request.max_content_length = RECORD_LIMIT
        record = request.get_data(cache=False) or None
        admission.add(self._store, self._engine, self._address(address), record, self._clock)
        return self.get(address)

    def delete(self, address: str) -> Response:
        deleted = recipient_view.delete(self._store, self._address(address))
        if not deleted:
            return errors.answer(404, "there is no record of this address")
        answer: Response = jsonify(deleted=list(deleted))
        return answer

    def why(self, address: str) -> Response:
        explained: Response = jsonify(schemas.explanation(self._view(address)))
        return explained

    def restore(self, address: str) -> Response:
        request.max_content_length = RECORD_LIMIT
        asked = schemas.RestoreRequest().load(_json(request.get_data(cache=False)))
        normal = self._address(address).normal
        done = restoring.restore(self._store, self._engine, normal, force=asked["force"], clock=self._clock)
        answer: Response = jsonify(restored=schemas.judgements(list(done.removals)), rows=done.rows)
        return answer

    def import_(self) -> Response:
        request.max_content_length = IMPORT_LIMIT
        read = recipient_csv.read if request.mimetype == "text/csv" else recipient_ndjson.read
        bad: list[BadLine] = []
        counted = 0

        def report(line: BadLine) -> None:
            nonlocal counted
            counted += 1
            if len(bad) < BAD_LINES:
                bad.append(line)

        source = io.BufferedReader(request.stream)  # type: ignore[type-var]  # a RawIOBase, typed as IO[bytes]
        lines = read(source, self._clock(), keep_local_case=self._keep_local_case)
        stored = admission.import_all(self._store, self._engine, lines, report)
        answer: Response = jsonify(stored=stored, bad=counted, bad_lines=schemas.BadLineSchema(many=True).dump(bad))
        return answer

    def export(self) -> Response:
        self._store.ping()  # an outage is a 503 as long as no line is sent
        return Response(self._lines(), mimetype="application/x-ndjson")

    def _lines(self) -> Iterator[bytes]:
        for address, record in self._store.scan():
            yield (
                recipient_ndjson.export_line(address, record, keep_local_case=self._keep_local_case).encode() + b"\n"
            )

    def _view(self, address: str) -> recipient_view.View:
        return recipient_view.view(self._store, self._engine, self._address(address), self._clock)

    def _address(self, text: str) -> Address:
        return normalise(text, keep_local_case=self._keep_local_case)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise BadRequest from None
