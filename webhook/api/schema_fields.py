"""Fields of our schemas that marshmallow does not have."""

from typing import Any

from marshmallow import fields

from core.tables import from_us


class TrueOrFalse(fields.Boolean):
    """JSON's own true and false: to Python 1 is True as well, to OpenAPI it is not."""

    def _deserialize(self, value: object, attr: str | None, data: object, **_: object) -> bool:
        if not isinstance(value, bool):
            raise self.make_error("invalid", input=value)
        return value


class TextOrNull(fields.String):
    """A text; null stands for the empty one."""

    def _serialize(self, value: str | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return super()._serialize(value, attr, obj, **kwargs) or None


class Moment(fields.Field[int]):
    """Microseconds since the epoch, dumped as ISO 8601."""

    def __init__(self, *, allow_none: bool = False) -> None:
        super().__init__(required=True, allow_none=allow_none, metadata={"type": "string", "format": "date-time"})

    def _serialize(self, value: int | None, attr: str | None, obj: Any, **kwargs: Any) -> str | None:
        return None if value is None else from_us(value).isoformat()
