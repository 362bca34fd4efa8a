"""`mailward providers` after real posts to a real web process: what was accepted, by which secret, what was refused."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import requests

from core import counts
from core.clock import utc_now
from tests.integration.web_process import SECRET, serving
from tests.letters import ready_command_line
from tests.system import System, wait_until

NEXT_SECRET = "whsec_dGhlLW5leHQtc2VjcmV0LWZvci10ZXN0cw=="


def test_providers_tell_how_their_last_posts_fared(system: System, tmp_path: Path) -> None:
    system.environ["RESEND_WEBHOOK_SECRETS"] = f"{NEXT_SECRET},{SECRET}"
    mailward = ready_command_line(system)
    before = utc_now().replace(second=0, microsecond=0)

    def listed() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(mailward.out("providers", "--json"))
        return found

    def of(name: str) -> dict[str, Any]:
        return next(one for one in listed()["providers"] if one["name"] == name)

    with serving(system.environ, tmp_path) as web:
        assert web.post(1).status_code == 200
        assert requests.post(f"{web.url}/webhooks/resend", data=b"{}", timeout=10).status_code == 401
        assert requests.post(f"{web.url}/webhooks/cloudflare", data=b"{}", timeout=10).status_code == 404
        wait_until(lambda: bool(of("resend")["last_accepted"] and listed()["not_configured"]), "all counted")
        wait_until(lambda: bool(of("resend")["refused"]), "the refusal is counted")

    resend = of("resend")
    assert (resend["configured"], resend["last_secrets"]) == (True, ["2 of 2"])
    assert before <= datetime.fromisoformat(resend["last_accepted"]) <= utc_now()
    assert [(one["reason"], one["count"]) for one in resend["refused"]] == [("missing_headers", 1)]
    assert of("cloudflare") | {"title": "", "proof": ""} == {
        "name": "cloudflare",
        "title": "",
        "configured": False,
        "setting": "CLOUDFLARE_WEBHOOK_SECRETS",
        "proof": "",
        "last_accepted": None,
        "last_secrets": [],
        "refused": [],
    }
    assert [(one["reason"], one["count"]) for one in listed()["not_configured"]] == [("unknown_provider", 1)]
    shown = mailward.out("providers")
    assert "yes: RESEND_WEBHOOK_SECRETS is set" in shown
    assert "refused: missing_headers, 1 time, last " in shown


def test_only_the_days_that_are_asked_for_are_looked_at(system: System) -> None:
    mailward = ready_command_line(system)
    with system.engine.begin() as connection:
        counts.add(connection, {("accepted", "resend", "complaint"): 1}, utc_now() - timedelta(days=10))

    def accepted(*options: str) -> list[str]:
        providers = json.loads(mailward.out("providers", "--json", *options))["providers"]
        return [one["name"] for one in providers if one["last_accepted"]]

    assert accepted() == ["resend"]
    assert accepted("--days", "9") == []
