"""The command line in the test's own process, with nothing but the test's own environment."""

import json
from collections.abc import Mapping
from typing import Any

from click.testing import CliRunner, Result

from ops.cli import cli
from tests.unit.test_settings import example


class CommandLine:
    """`mailward` as a function; what is no fault of a service or a setting is raised."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = dict(environ)

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Result:
        """The result of one command."""
        environ = {**dict.fromkeys(example(optional=True)), "DYNO": None, **self.environ}
        return CliRunner().invoke(cli, arguments, input=stdin, env=environ, catch_exceptions=False)

    def out(self, *arguments: str, stdin: bytes | None = None) -> str:
        """Standard output of a command that must succeed."""
        result = self(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result.stdout

    def findings(self) -> list[tuple[str, str, str]]:
        """(level, area, text) of everything that `mailward check` finds."""
        found: list[dict[str, Any]] = json.loads(self("check", "--json").stdout)["findings"]
        return [(one["level"], one["area"], one["text"]) for one in found]
