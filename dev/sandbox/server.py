"""A sandbox as a process of its own, and its admin interface: for tests, benches and the demo."""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import requests

from dev.ports import LOOPBACK
from dev.server import Server

API_KEY = "re_sandbox"

_ROOT = Path(__file__).parent.parent.parent


class SandboxServer(Server):
    """A sandbox on 127.0.0.1; what it remembers ends with its process. `url` is the base URL of its API."""

    name = "sandbox"
    variable = "RESEND_BASE_URL"

    def __init__(
        self,
        directory: Path,
        *,
        webhook_url: str = "",
        webhook_secret: str = "",
        settings: Mapping[str, Any] | None = None,
        seed: int = 1,
    ) -> None:
        super().__init__(directory)
        self._environ = {"PYTHONPATH": str(_ROOT), "SANDBOX_WEBHOOK_SECRET": webhook_secret}
        self._arguments = ["--webhook-url", webhook_url, "--settings", json.dumps(settings or {}), "--seed", str(seed)]
        self._session = requests.Session()
        self._session.trust_env = False

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def set(self, **changes: Any) -> dict[str, Any]:
        """Change settings (dev.sandbox.faults.Settings); returns all of them."""
        return self._object(self._session.post(f"{self.url}/sandbox/settings", json=changes, timeout=10))

    def fault(self, name: str, *, count: int = 0, probability: float = 0.0) -> None:
        """Make a fault strike the next `count` calls, and later ones with this probability; neither ends it."""
        self.set(faults={name: {"count": count, "probability": probability}})

    def reset(self) -> None:
        """Forget everything."""
        self._session.post(f"{self.url}/sandbox/reset", timeout=10).raise_for_status()

    def advance(self, seconds: float) -> None:
        """Put the sandbox's clock forward: keys expire, quotas begin anew."""
        self._session.post(f"{self.url}/sandbox/advance", json={"seconds": seconds}, timeout=10).raise_for_status()

    def stats(self) -> dict[str, Any]:
        """Counts of calls by result, mails, keys, faults that struck, webhooks."""
        return self._object(self._session.get(f"{self.url}/sandbox/stats", timeout=10))

    def recipients(self, campaign: str | None = None, *, addresses: bool = False) -> dict[str, Any]:
        """{recipients, mails, min, max, duplicates}, and on request `addresses` with the mails of each."""
        asked: dict[str, str | None] = {"campaign": campaign, "addresses": "1" if addresses else None}
        return self._object(self._session.get(f"{self.url}/sandbox/recipients", params=asked, timeout=60))

    def arrivals(self, since: float = 0.0, key: str = "") -> list[dict[str, Any]]:
        """The calls that arrived after `since` (seconds since 1970), oldest first."""
        answer = self._session.get(f"{self.url}/sandbox/arrivals", params={"since": str(since), "key": key}, timeout=60)
        answer.raise_for_status()
        return [json.loads(line) for line in answer.text.splitlines()]

    def drain(self, wait_s: float = 60.0) -> dict[str, Any]:
        """Wait until no webhook is pending; returns what became of them."""
        url = f"{self.url}/sandbox/webhooks/pending"
        return self._object(self._session.get(url, params={"wait": wait_s}, timeout=wait_s + 10))

    def redeliver(self) -> int:
        """Post once more the webhooks that were given up; returns how many."""
        answer = self._object(self._session.post(f"{self.url}/sandbox/webhooks/redeliver", timeout=10))
        return int(answer["redelivered"])

    def _launch(self) -> None:
        command: Iterable[str] = (sys.executable, "-m", "dev.sandbox", "--port", str(self.port), "--api-key", API_KEY)
        self._spawn([*command, *self._arguments], self._environ)

    def _answers(self) -> bool:
        try:
            return self._session.get(f"{self.url}/sandbox/stats", timeout=1).status_code == 200
        except requests.RequestException:
            return False

    @staticmethod
    def _object(answer: requests.Response) -> dict[str, Any]:
        answer.raise_for_status()
        content = answer.json()
        assert isinstance(content, dict)
        return content
