"""`mailward recipients`: look at, change, carry and restore the records in the recipient store."""

import sys
from typing import BinaryIO

import click

from core import admission, recipient_csv, recipient_ndjson
from core import restore as restoring
from core.addresses import Address, NotAnAddress, normalise
from core.recipient_files import BadFile, BadLine
from core.recipient_view import View, view
from core.recipient_view import delete as delete_records
from ops import recipient_text as text
from ops.context import Context
from ops.progress import progress

READERS = {"ndjson": recipient_ndjson.read, "csv": recipient_csv.read}


class AddressType(click.ParamType[Address]):
    """One email address, with or without a display name."""

    name = "address"

    def convert(self, value: str | Address, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        keep = ctx is not None and ctx.find_object(Context) is not None and ctx.obj.settings.keep_local_case
        try:
            return normalise(value, keep_local_case=keep)
        except NotAnAddress as error:
            self.fail(f"{value!r} is not one email address: {error}", param, ctx)


ADDRESS = AddressType()


@click.group()
def recipients() -> None:
    """Look at, change, import, export and restore recipient records."""


@recipients.command()
@click.argument("address", type=ADDRESS)
@click.option("--value", help="The record: JSON, or whatever your application stores; - reads it from standard input.")
@click.pass_obj
def add(context: Context, address: Address, value: str | None) -> None:
    """Store the record of ADDRESS and let it in again, whatever the journal has against it.

    A JSON object gets eligible_since = now unless it has one. Without --value the record that is there stays, with a
    new eligible_since; where there is none, it is {}.
    """
    record = sys.stdin.buffer.read() if value == "-" else None if value is None else value.encode()
    try:
        added = admission.add(context.store, context.engine, address, record, context.clock)
    except admission.BadFence as error:
        raise click.BadParameter(str(error), param_hint="--value") from None
    click.echo(f"{'replaced' if added.was is not None else 'added'} {added.key}")
    click.echo(text.mailable(_view(context, address)))


@recipients.command()
@click.argument("address", type=ADDRESS)
@click.pass_obj
def show(context: Context, address: Address) -> None:
    """Show the record of ADDRESS, its key, and whether mail to it is blocked."""
    for line in text.shown(_view(context, address)):
        click.echo(line)


@recipients.command()
@click.argument("address", type=ADDRESS)
@click.pass_obj
def delete(context: Context, address: Address) -> None:
    """Delete the record of ADDRESS, in normal form and as written; prints what was there."""
    deleted = delete_records(context.store, address)
    for key, record in deleted.items():
        click.echo(f"deleted {key}; it was:", err=True)
        click.echo(_line(context, context.store.address(key), record))
    if not deleted:
        raise click.ClickException(f"there is no record of {address.normal}")


@recipients.command("import")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--format", "form", type=click.Choice(sorted(READERS)), help="Default: csv for a name ending in .csv.")
@click.pass_obj
def import_file(context: Context, file: BinaryIO, form: str | None) -> None:
    """Store the recipients of FILE (or standard input), NDJSON or CSV, replacing what is there.

    NDJSON: {"address": …, "record": …} a line. CSV: a header with address and either record or any other columns. Lines
    that cannot be read are reported and skipped; exit status 1 then. A line re-admits only if it has eligible_since.
    """
    name = str(getattr(file, "name", "standard input"))
    read = READERS[form or ("csv" if name.lower().endswith(".csv") else "ndjson")]
    bad = 0

    def report(line: BadLine) -> None:
        nonlocal bad
        bad += 1
        click.echo(f"line {line.line}: {line.reason}", err=True)

    try:
        with progress(file, "importing") as source:
            rows = read(source, context.clock(), keep_local_case=context.settings.keep_local_case)
            stored = admission.import_all(context.store, context.engine, rows, report)
    except BadFile as error:
        raise click.ClickException(f"{name}: {error}") from None
    click.echo(f"{stored} stored, {bad} not taken")
    if bad:
        raise click.exceptions.Exit(1)


@recipients.command()
@click.argument("file", type=click.File("wb", lazy=False), default="-")
@click.pass_obj
def export(context: Context, file: BinaryIO) -> None:
    """Write every record as NDJSON to FILE (or standard output), in no order; `import` gives back the same bytes."""
    for address, record in context.store.scan():
        file.write(_line(context, address, record).encode() + b"\n")


@recipients.command()
@click.argument("address", type=ADDRESS)
@click.pass_obj
def why(context: Context, address: Address) -> None:
    """Say which event and which rule removed ADDRESS, from the journal."""
    for line in text.explained(_view(context, address)):
        click.echo(line)


@recipients.command()
@click.argument("address", type=ADDRESS)
@click.option("--force", is_flag=True, help="Replace a newer record.")
@click.pass_obj
def restore(context: Context, address: Address, force: bool) -> None:
    """Put the removed record of ADDRESS back, byte for byte, and lift its blocks. Safe to repeat."""
    try:
        done = restoring.restore(context.store, context.engine, address.normal, force=force, clock=context.clock)
    except restoring.NeverJournalled:
        raise click.ClickException(
            f"mailward never removed {address.normal}: there is nothing to restore (`recipients add` adds a record)"
        ) from None
    except restoring.NewerRecord as error:
        raise click.ClickException(f"not restored: {error}; --force replaces it") from None
    for line in text.restored(address, done):
        click.echo(line)


def _view(context: Context, address: Address) -> View:
    return view(context.store, context.engine, address, context.clock)


def _line(context: Context, address: str, record: bytes) -> str:
    return recipient_ndjson.export_line(address, record, keep_local_case=context.settings.keep_local_case)
