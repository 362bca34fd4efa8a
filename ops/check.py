"""`mailward check`, the doctor: looks at settings and services, changes nothing, says what is wrong and what to do."""

import json
import os
from collections.abc import Iterator, Mapping

import click

from config.settings import SettingsError, load
from ops import check_broker, check_redis, check_settings, check_sql
from ops.context import Context
from ops.findings import Finding, Level, failed

_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.pass_obj
def check(context: Context | None, as_json: bool) -> None:
    """Look at settings, connections, topology, stores and queues. Exit status 1 if anything FAILs."""
    found = []
    for finding in findings(context, os.environ):
        found.append(finding)
        if not as_json:
            click.echo(click.style(finding.line(), fg=_COLOURS[finding.level]))
    if as_json:
        click.echo(json.dumps({"ok": not failed(found), "findings": [one.as_dict() for one in found]}, indent=2))
    if failed(found):
        raise click.exceptions.Exit(1)


def findings(context: Context | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Everything the doctor finds, as it finds it; without a context only what is wrong with the settings."""
    if context is None:
        yield from _faults(environ)
        return
    yield from check_settings.findings(context.settings, environ)
    yield from check_broker.findings(context)
    yield from check_redis.findings(context)
    yield from check_sql.findings(context)


def _faults(environ: Mapping[str, str]) -> Iterator[Finding]:
    try:
        load(environ)
    except SettingsError as error:
        for fault in error.faults:
            yield Finding(Level.FAIL, "settings", fault, "config/example.env explains every setting")
