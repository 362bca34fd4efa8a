"""`mailward campaign create`: a campaign from options and files."""

from pathlib import Path
from typing import Any

import click
from marshmallow import ValidationError

from ops import campaign_text as text
from ops.context import Context
from ops.pair import Pair
from sender.campaign import AUDIENCES
from sender.render import BadTemplate
from sender.store_audience import BadFilter

PAIR = Pair("NAME=VALUE")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("name")
@click.option("--from", "sender", required=True, help="Address of the sender, with or without a name.")
@click.option("--subject", required=True, help="A template of one line.")
@click.option("--html", type=_FILE, help="File with the template of the HTML.")
@click.option("--text", type=_FILE, help="File with the template of the text.")
@click.option("--reply-to", multiple=True, help="Where answers go; may be repeated.")
@click.option("--header", "headers", type=PAIR, multiple=True, help="A header of the mail; may be repeated.")
@click.option("--tag", "tags", type=PAIR, multiple=True, help="A tag for the provider; may be repeated.")
@click.option("--unsubscribe-url", default="", help="https URL with {token} in it, for List-Unsubscribe.")
@click.option("--audience", type=click.Choice(AUDIENCES), default=AUDIENCES[0], show_default=True)
@click.option("--filter", "audience_filter", default="", help="FIELD=VALUE of the records, for --audience store.")
@click.pass_obj
def create(context: Context, /, name: str, audience: str, audience_filter: str, **mail: Any) -> None:
    """Make a draft called NAME; prints its id."""
    content = {
        "from": mail["sender"],
        "subject": mail["subject"],
        "html": mail["html"].read_text() if mail["html"] else "",
        "text": mail["text"].read_text() if mail["text"] else "",
        "reply_to": list(mail["reply_to"]),
        "headers": dict(mail["headers"]),
        "tags": dict(mail["tags"]),
        "unsubscribe_url": mail["unsubscribe_url"],
    }
    try:
        click.echo(context.campaigns.create(name, content, context.actor, audience, audience_filter))
    except ValidationError as error:
        raise click.ClickException("\n".join(text.faults(error))) from None
    except (BadTemplate, BadFilter, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from None
