"""`mailward`: the root of the command line. Settings are read here; every fault ends as one line and exit status 1."""

import logging
import os
import signal
import sys
from typing import Any

import click

from config.settings import SettingsError, load
from ops.campaign_commands import campaign
from ops.check import check
from ops.classify import classify
from ops.context import Context
from ops.dlq_commands import dlq
from ops.faults import FAULTS, explain
from ops.ledger_commands import ledger
from ops.migrate import migrate
from ops.provider_list import providers
from ops.recipient_commands import recipients
from ops.send_event import send_test_event
from ops.status import status
from ops.watch import watch


class Root(click.Group):
    """The group that reads the settings and turns what the services raise into one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # `check` reports wrong settings among its findings, and help needs none.
        ctx.meta["mailward.needs_settings"] = args[:1] != ["check"] and not set(args) & set(ctx.help_option_names)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        context = _context(ctx)
        ctx.obj = context
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click ends quietly: whoever read our output has gone
        except SettingsError as error:  # of a provider, which nobody has made before a command needs it
            raise _wrong(error) from None
        except FAULTS as error:
            if context is None:
                raise
            hint = "`mailward check` looks at everything."
            raise click.ClickException(f"{explain(error, context.settings)} {hint}") from None
        finally:
            if context is not None:
                context.close()


def _context(ctx: click.Context) -> Context | None:
    try:
        return Context(load(os.environ))
    except SettingsError as error:
        if not ctx.meta["mailward.needs_settings"]:
            return None
        raise _wrong(error) from None


def _wrong(error: SettingsError) -> click.ClickException:
    faults = "\n".join(f"  {fault}" for fault in error.faults)
    return click.ClickException(f"settings are wrong (config/example.env explains each):\n{faults}")


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="mailward")
def cli() -> None:
    """Keep recipients who complained, or whose address is dead, out of the mail. All settings: config/example.env."""
    # Libraries log what reaches us as an exception anyway; people at a terminal read it once.
    logging.basicConfig(level=logging.CRITICAL, stream=sys.stderr)


for command in (
    migrate, check, status, watch, providers, classify, send_test_event, recipients, campaign, dlq, ledger
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Run the command line; the console script `mailward`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts us in the background had it ignored
    cli(prog_name="mailward")
