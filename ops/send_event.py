"""`mailward send-test-event`: sign an event as its provider would, and post it to any URL."""

import uuid
from datetime import UTC, datetime
from pathlib import Path

import click
import requests

from core.events import Kind
from ops.context import Context
from providers.base import Post, Provider
from providers.registry import PROVIDERS

TIMEOUT_S = 35.0  # routers give up at 30


class Moment(click.ParamType[datetime]):
    """A time in ISO 8601; without an offset it is UTC."""

    name = "time"

    def convert(self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time such as 2026-01-31T12:00:00Z", param, ctx)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.command("send-test-event")
@click.option("--provider", "name", required=True, type=click.Choice(sorted(PROVIDERS)), help="Whose event it is.")
@click.option("--kind", type=click.Choice([kind.value for kind in Kind]), help="What happened.")
@click.option("--to", "recipient", help="The recipient it is about.")
@click.option("--body", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Post this file instead.")
@click.option("--url", help="Where to post. Default: this machine, PORT, /webhooks/<provider>.")
@click.option("--event-id", help="Its id. Default: a new one; the same one again is a duplicate.")
@click.option("--occurred-at", type=Moment(), help="When it happened. Default: now.")
@click.option("--bad-signature", is_flag=True, help="Leave its proof out: the answer must be 401.")
@click.pass_obj
def send_test_event(
    context: Context,
    name: str,
    kind: str | None,
    recipient: str | None,
    body: Path | None,
    url: str | None,
    event_id: str | None,
    occurred_at: datetime | None,
    bad_signature: bool,
) -> None:
    """Sign an event and post it; prints the answer. Exit status 1 unless it is 200.

    Needs the provider's secret, the same that the receiver has.
    """
    provider = _configured(context, name)
    now = context.clock()
    event_id = event_id or f"test_{uuid.uuid4().hex}"
    if body is not None:
        content = body.read_bytes()
    elif kind and recipient:
        content = _sample(provider, Kind(kind), recipient, event_id, occurred_at or now)
    else:
        raise click.UsageError("either --kind and --to, or --body, must say what to post")
    signed = _signed(provider, content, event_id, now, bad_signature)
    answer = _post(url or f"http://127.0.0.1:{context.settings.port}/webhooks/{name}", signed)
    click.echo(f"{answer.status_code} {answer.text.strip()[:1000]}")
    if answer.status_code != requests.codes.ok:
        raise click.exceptions.Exit(1)


def _configured(context: Context, name: str) -> Provider:
    provider = context.providers.get(name)
    if provider is None:
        raise click.ClickException(f"{name} is not configured: set {PROVIDERS[name].setting}")
    return provider


def _sample(provider: Provider, kind: Kind, recipient: str, event_id: str, occurred_at: datetime) -> bytes:
    try:
        return provider.sample(kind, recipient, event_id, occurred_at)
    except ValueError as error:
        raise click.ClickException(f"{provider.name}: {error}") from None


def _signed(provider: Provider, body: bytes, event_id: str, now: datetime, bad: bool) -> Post:
    try:
        good = provider.sign(body, event_id, now)
    except ValueError as error:
        raise click.ClickException(f"{provider.name}: {error}") from None
    # Some proofs stand in a header and do not cover the body, others stand in the body: without any, all refuse.
    return Post({name: good.headers[name] for name in good.headers if name == "content-type"}, body) if bad else good


def _post(url: str, post: Post) -> requests.Response:
    try:
        return requests.post(url, data=post.body, headers=dict(post.headers), timeout=TIMEOUT_S, allow_redirects=False)
    except requests.RequestException as error:
        raise click.ClickException(
            f"{url} does not answer: {_short(error)}. Is the web process running there?"
        ) from None


def _short(error: requests.RequestException) -> str:
    if isinstance(error, requests.Timeout):
        return f"no answer within {TIMEOUT_S:.0f} s"
    reason = getattr(error.args[0] if error.args else None, "reason", error)
    return str(reason).rpartition(": ")[2][:200] or type(error).__name__
