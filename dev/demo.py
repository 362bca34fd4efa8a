"""`make run` and `make demo`: the whole event path on this machine, a stream of signed events, a table of the result.

`python -m dev.demo [--serve]`. The last line of a demo that ends by itself is one JSON object.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from core.clock import utc_now
from dev import demo_campaign, demo_report, demo_stream
from dev.demo_poster import Posted, Poster
from dev.demo_stream import WRONG_TYPE, Group
from dev.demo_system import DemoFailed, DemoSystem, environment, refuse_production, sending
from dev.sandbox import server as sandbox_server
from dev.sandbox.server import SandboxServer
from dev.services import ServerFailed, running
from providers import registry

DATA = Path(".mailward")


def main() -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="dev.demo", description="the whole event path on this machine")
    parser.add_argument("--serve", action="store_true", help="keep serving until Ctrl-C")
    serve = parser.parse_args().serve
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` stops what we started
    try:
        refuse_production()
        print("Starting RabbitMQ, Redis and the processes of the Procfile …", flush=True)
        with running(DATA, os.environ) as urls:
            environ = environment(urls)
            with _sandbox(environ) as sandbox:
                system = DemoSystem(environ | sending(sandbox.url, sandbox_server.API_KEY), DATA / "demo.log")
                try:
                    return _run(system, sandbox, serve)
                finally:
                    system.stop()
    except (DemoFailed, ServerFailed) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.")
        return 0


def _sandbox(environ: Mapping[str, str]) -> SandboxServer:
    """A provider for the demo's campaigns, which posts its webhooks to the demo's web process."""
    return SandboxServer(
        DATA.absolute() / "sandbox",
        webhook_url=f"http://127.0.0.1:{environ['PORT']}/webhooks/resend",
        webhook_secret=environ["RESEND_WEBHOOK_SECRETS"],
        settings=demo_campaign.SANDBOX,
    )


def _run(system: DemoSystem, sandbox: SandboxServer, serve: bool) -> int:
    system.start()
    addresses = demo_stream.recipients()
    system.store.put_many((address, b'{"name": "made up"}') for address in addresses)
    system.store.put(demo_stream.NEW_CONSENT, json.dumps({"eligible_since": utc_now().isoformat()}).encode())
    _spoil(system)
    print(f"{len(addresses)} recipients are stored; posting signed events to {system.url}/webhooks/…", flush=True)

    poster = Poster(system.url, registry.configured(system.settings))
    *first, repeats = demo_stream.groups(poster.providers, utc_now())
    posted = [(group, poster.post(group)) for group in first]
    system.wait(lambda: _handled(system) == _accepted(posted), "every accepted event to be applied, parked or dead")
    posted.append((repeats, poster.post(repeats)))
    system.wait(lambda: _handled(system) == _accepted(posted), "the repeats to be recognised")
    replayed = _repair_and_replay(system)

    left = {address for address, _ in system.store.scan()}
    campaigns = demo_campaign.run(system, sandbox, addresses)
    wrong = demo_report.wrongly_kept_or_removed([group for group, _ in posted], set(addresses), left)
    sums = _sums(system, _accepted(posted) + campaigns.webhooks, _refused(posted), replayed) | _of(campaigns)
    print(demo_report.table(posted, set(addresses), left))
    print(json.dumps(sums), flush=True)
    if wrong:
        raise DemoFailed(f"records that are wrongly gone or wrongly there: {', '.join(sorted(wrong))}")
    if sums["accepted"] != sum(sums[name] for name in ("removed", "kept", "duplicates", "parked", "dead_letters")):
        raise DemoFailed("the counts do not add up")
    if serve:
        _serve(system)
    return 0


def _spoil(system: DemoSystem) -> None:
    """Make one record something that no consumer can judge, so that its event must become a dead letter."""
    key = system.store.key(WRONG_TYPE)
    system.client.delete(key)
    system.client.hset(key, "name", "made up")


def _repair_and_replay(system: DemoSystem) -> int:
    """Find the dead letter, mend its cause, replay it; returns how many letters were replayed."""
    print("\nA dead letter, as `mailward dlq list` shows it:\n" + system.mailward("dlq", "list"), flush=True)
    dead = system.depth(system.topology.events.dead_letters)
    removed = system.outcomes().get("removed", 0)
    system.client.delete(system.store.key(WRONG_TYPE))
    system.store.put(WRONG_TYPE, b'{"name": "made up"}')
    print("Its cause is mended (the record is a string again); `mailward dlq replay --lane failed --all`:", flush=True)
    print(system.mailward("dlq", "replay", "--lane", "failed", "--all", "--yes"), flush=True)
    system.wait(lambda: system.outcomes().get("removed", 0) == removed + dead, "the replayed event to be applied")
    return dead - system.depth(system.topology.events.dead_letters)


def _accepted(posted: list[tuple[Group, list[Posted]]]) -> int:
    return sum(one.queued + one.parked for _, posts in posted for one in posts)


def _handled(system: DemoSystem) -> int:
    dead = system.depth(system.topology.events.dead_letters)
    return sum(system.outcomes().values()) + dead + system.parked_items()


def _refused(posted: list[tuple[Group, list[Posted]]]) -> int:
    return sum(one.status == 401 for _, posts in posted for one in posts)


def _of(campaigns: demo_campaign.Sent) -> dict[str, int]:
    return {
        "sent": campaigns.sent,
        "skipped": campaigns.skipped,
        "duplicates_sent": campaigns.duplicates_sent,
        "unknown": campaigns.unknown,
    }


def _sums(system: DemoSystem, accepted: int, refused: int, replayed: int) -> dict[str, int]:
    outcomes = system.outcomes()
    return {
        "accepted": accepted,
        "removed": outcomes.get("removed", 0),
        "kept": sum(outcomes.get(name, 0) for name in ("ignored", "stale", "absent")),
        "duplicates": outcomes.get("duplicate", 0),
        "refused": refused,
        "parked": system.parked_items(),
        "dead_letters": system.depth(system.topology.events.dead_letters),
        "replayed": replayed,
    }


def _serve(system: DemoSystem) -> None:
    """Say how to go on by hand, and wait for Ctrl-C."""
    file = DATA / "demo.env"
    file.write_text("".join(f"export {name}='{value}'\n" for name, value in system.environ.items()))
    file.chmod(0o600)
    print(demo_report.next_steps(system.url, file), flush=True)
    system.wait_for_end()


if __name__ == "__main__":
    sys.exit(main())
