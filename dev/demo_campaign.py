"""The demo's campaigns: one to everybody eligible, whose bounces and complaints come back; one that skips them."""

import json
import tempfile
from dataclasses import dataclass

from dev.demo_system import DemoFailed, DemoSystem
from dev.sandbox.server import SandboxServer

SANDBOX = {
    "bounce_fraction": 0.02,
    "complaint_fraction": 0.01,
    "latency_ms": 40,
    "sent_delay_s": 0.2,
    "outcome_delay_s": 0.5,
}
HTML = "<p>Hello {{ name | default('reader') }}, this is a made-up mail of the mailward demo.</p>"


@dataclass(frozen=True, slots=True)
class Sent:
    """What the campaigns came to, and how many webhooks of theirs mailward has taken."""

    sent: int
    skipped: int
    duplicates_sent: int
    unknown: int
    webhooks: int


def run(system: DemoSystem, sandbox: SandboxServer, everybody: list[str]) -> Sent:
    """Send both campaigns through the sandbox; raises DemoFailed where somebody was mailed twice or wrongly."""
    first = _create(system, "to everybody eligible", "--audience", "store")
    system.mailward("campaign", "start", first)
    one = _finished(system, first)
    _webhooks_applied(system, sandbox)
    print(
        f"Campaign {first}: {one['sent']} mails; its bounces and complaints have removed their recipients.", flush=True
    )

    second = _create(system, "to everybody of the old list", "--audience", "upload")
    with tempfile.NamedTemporaryFile("w", suffix=".ndjson") as file:
        file.writelines(json.dumps({"address": address}) + "\n" for address in everybody)
        file.flush()
        system.mailward("campaign", "upload", second, file.name)
    system.mailward("campaign", "start", second, "--expect", str(len(everybody)))
    two = _finished(system, second)
    webhooks = _webhooks_applied(system, sandbox)
    print(f"Campaign {second}: {two['sent']} mails, {two['skipped']} people skipped.\n", flush=True)

    counted = sandbox.recipients()
    if counted["mails"] != one["sent"] + two["sent"]:
        raise DemoFailed(f"the ledger says {one['sent']} + {two['sent']} mails, the provider {counted['mails']}")
    unknown = one["unknown"] + two["unknown"]
    return Sent(one["sent"] + two["sent"], one["skipped"] + two["skipped"], counted["duplicates"], unknown, webhooks)


def _create(system: DemoSystem, name: str, *options: str) -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".html") as html:
        html.write(HTML)
        html.flush()
        created = system.mailward(
            "campaign",
            "create",
            name,
            "--from",
            "Demo <demo@example.org>",
            "--subject",
            "Hello",
            "--html",
            html.name,
            *options,
        )
    return created.split()[0]


def _finished(system: DemoSystem, campaign: str) -> dict[str, int]:
    """Wait until everybody of a campaign has been dealt with; its counts."""

    def stats() -> dict[str, int]:
        found: dict[str, int] = json.loads(system.mailward("campaign", "status", campaign, "--json"))["stats"]
        return found

    system.wait(lambda: stats()["remaining"] + stats()["reserved"] == 0, f"campaign {campaign} to be sent")
    return stats()


def _webhooks_applied(system: DemoSystem, sandbox: SandboxServer) -> int:
    """Wait until the sandbox has posted everything and the consumer has handled it; how many posts were taken."""
    drained = sandbox.drain(60)
    if drained["pending"] or drained["given_up"]:
        raise DemoFailed(f"webhooks of the sandbox were not taken: {drained}")
    system.wait(lambda: system.depth(system.topology.events.name) == 0, "the campaign's events to be applied")
    return int(drained["delivered"])
