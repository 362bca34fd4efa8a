"""`mailward classify`: what a body would mean, without its proof, and without touching anything."""

import json
from typing import BinaryIO

import click

from ops.context import Context
from ops.explanation import explained, unreadable
from ops.explanation_text import document, lines
from ops.pair import Pair
from providers.base import Provider, Request
from providers.reading import reader
from providers.registry import PROVIDERS


@click.command()
@click.argument("name", metavar="PROVIDER", type=click.Choice(sorted(PROVIDERS)))
@click.argument("body", type=click.File("rb"), default="-")
@click.option(
    "--header", "headers", multiple=True, type=Pair("name=value"), help="A header of the post, such as svix-id=msg_1."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document for machines.")
@click.pass_obj
def classify(context: Context, name: str, body: BinaryIO, headers: tuple[tuple[str, str], ...], as_json: bool) -> None:
    """Explain what PROVIDER's BODY (a file, or standard input) means: events, kinds, rules, and what would happen.

    Asks no service and needs no secret: the proof is not looked at. The switches of the settings count. Exit status 1
    where the body as a whole cannot be read.
    """
    content = body.read()
    if not content:
        raise click.ClickException("the body is empty: name a file, or write the body to standard input")
    provider, entry = _reader(context, name), PROVIDERS[name]
    if len(content) > provider.answers.body_limit:
        raise click.ClickException(
            f"the body has {len(content):,} bytes and would be refused: {name} may post {provider.answers.body_limit:,}"
        )
    said = provider.normalise(Request({key.strip().lower(): text for key, text in headers}, content, context.clock()))
    items = explained(said, [rule for table in entry.tables.values() for rule in table.rules])
    if as_json:
        click.echo(json.dumps(document(name, items, said.confirm_url), indent=2))
    else:
        for line in lines(name, entry.proof, items, said.confirm_url):
            click.echo(line)
    if reason := unreadable(items):
        raise click.ClickException(f"the body cannot be read: {reason}")


def _reader(context: Context, name: str) -> Provider:
    try:
        return reader(name, context.settings)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
