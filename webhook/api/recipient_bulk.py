"""Many recipients at once, by the API: as NDJSON, or CSV by its content type."""

import io
from collections.abc import Callable, Iterator
from datetime import datetime

from flask import Response, request
from sqlalchemy import Engine

from core import admission, recipient_csv, recipient_ndjson
from core.recipient_files import BadLine
from core.recipients import RecipientStore
from webhook.api import media, schemas
from webhook.api.bodies import IMPORT_LIMIT, UNREADABLE
from webhook.operation import Meaning, describe

BAD_LINES = 100  # of an import, shown; all are counted


class Many:
    """One method for each route."""

    def __init__(
        self, store: RecipientStore, engine: Engine, clock: Callable[[], datetime], keep_local_case: bool
    ) -> None:
        self._store, self._engine, self._clock, self._keep_local_case = store, engine, clock, keep_local_case

    @describe(
        "Store many records; safe to repeat",
        {
            200: Meaning("Good lines are stored, bad ones are told.", schemas.ImportedSchema),
            422: Meaning("The first line of the CSV will not do."),
            **UNREADABLE,
        },
        body=media.IMPORT,
    )
    def import_(self) -> Response:
        request.max_content_length = IMPORT_LIMIT
        read = recipient_csv.read if request.mimetype == media.CSV else recipient_ndjson.read
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
        return schemas.answer(schemas.ImportedSchema, {"stored": stored, "bad": counted, "bad_lines": bad})

    @describe("Every record", {200: Meaning("As the import takes them.", media.EXPORT)})
    def export(self) -> Response:
        self._store.ping()  # an outage is a 503 as long as no line is sent
        return Response(self._lines(), mimetype=media.NDJSON)

    def _lines(self) -> Iterator[bytes]:
        for address, record in self._store.scan():
            yield (
                recipient_ndjson.export_line(address, record, keep_local_case=self._keep_local_case).encode() + b"\n"
            )
