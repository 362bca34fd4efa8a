"""An option whose value is a pair."""

import click


class Pair(click.ParamType[tuple[str, str]]):
    """A name and a value with `=` between them, which help and errors write as `name` says."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(
        self, value: str | tuple[str, str], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, rest = value.partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not {self.name}", param, ctx)
        return name, rest
