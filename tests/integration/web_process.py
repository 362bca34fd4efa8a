"""The web process under test: gunicorn as the Procfile starts it, seen from outside."""

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import requests

from core import clock
from core.events import Kind
from dev.ports import free_port
from providers.resend import Resend
from tests.system import ROOT, START, wait_until

SECRET = "whsec_bWFkZS11cC1zZWNyZXQtZm9yLXRlc3Rz"
RESEND = Resend(
    (SECRET,),
    tolerance_s=300,
    keep_local_case=False,
    suppressed_is_hard=True,
    unknown_permanent_is_hard=False,
)


class WebProcess:
    """One gunicorn with its workers; `url` is where it listens."""

    def __init__(self, environ: Mapping[str, str], directory: Path, *options: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._log = directory / "web.log"
        command = [str(Path(sys.executable).parent / "gunicorn"), "-c", "config/gunicorn.conf.py", *options]
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(
                [*command, "webhook.wsgi:app"],
                cwd=ROOT,
                env={"RESEND_WEBHOOK_SECRETS": SECRET, "PORT": str(port), **environ},
                stdout=out,
                stderr=out,
            )
        wait_until(self._listens, "the web process listens")

    @property
    def log(self) -> str:
        return self._log.read_text()

    def post(self, number: int, session: requests.Session | None = None, timeout_s: float = 10) -> requests.Response:
        """Post a signed complaint of reader<number>@example.com."""
        body, headers = signed(number)
        url = f"{self.url}/webhooks/resend"
        return (session or requests).post(url, data=body, headers=headers, timeout=timeout_s)

    def terminate(self, timeout_s: float = 25) -> tuple[int, float]:
        """SIGTERM to the master; its exit status, and the seconds it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s), time.monotonic() - started

    def _listens(self) -> bool:
        assert self.process.poll() is None, self.log
        try:
            return requests.get(f"{self.url}/livez", timeout=1).status_code == 200
        except requests.RequestException:
            return False


@contextmanager
def serving(environ: Mapping[str, str], directory: Path, *options: str) -> Iterator[WebProcess]:
    """A web process for as long as the block runs."""
    web = WebProcess(environ, directory, *options)
    try:
        yield web
    finally:
        if web.process.poll() is None:
            web.process.terminate()
            web.process.wait(30)


def signed(number: int, message_id: str = "") -> tuple[bytes, dict[str, str]]:
    """Body and headers of a complaint of reader<number>@example.com."""
    body = RESEND.sample(Kind.COMPLAINT, f"reader{number}@example.com", f"mail-{number}", START)
    signed = RESEND.sign(body, message_id or f"msg_{uuid.uuid4().hex}", clock.utc_now())
    return signed.body, dict(signed.headers)
