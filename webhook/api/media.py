"""The bodies of the API that are no JSON object: what they hold, for the OpenAPI document."""

from webhook.operation import Media

NDJSON, CSV = "application/x-ndjson", "text/csv"

RECORD = (
    Media("application/json", "The record.", {}, {"name": "Ann"}),
    Media("application/octet-stream", "The record, any bytes.", {}),
)

_RECORD_LINE = (
    "A JSON object a line: `address`, and `record` (any JSON; a string is stored as the text in it) or `record_base64`"
)
_RECORD_EXAMPLE = '{"address":"ann@example.com","record":{"name":"Ann"}}\n'

EXPORT = Media(NDJSON, f"{_RECORD_LINE}.", example=_RECORD_EXAMPLE)

IMPORT = (
    Media(NDJSON, f"{_RECORD_LINE}; `eligible_since` says when consent was given.", example=_RECORD_EXAMPLE),
    Media(
        CSV,
        "UTF-8 with a header: `address`, and `record` or other columns, which become a JSON object of texts;"
        " `eligible_since` says when consent was given.",
        example="address,name\nann@example.com,Ann\n",
    ),
)

AUDIENCE = (
    Media(
        NDJSON,
        "A JSON object a line: `address` or `email`, perhaps `recipient_id` or `id`; all else are merge fields.",
        example='{"address":"ann@example.com","name":"Ann"}\n',
    ),
    Media(CSV, "UTF-8 with a header of the same names.", example="address,name\nann@example.com,Ann\n"),
)
