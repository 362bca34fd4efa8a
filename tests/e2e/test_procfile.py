"""The Procfile, run as a platform runs it: its variables, its release phase, its SIGTERM."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from tests.e2e.deployment import BIN, Deployment, processes_of, procfile
from tests.e2e.posts import cloudflare_bounce, resend, signed
from tests.system import ROOT, wait_until

GRACE_S = 25  # Heroku kills 30 s after SIGTERM
WRONG = {
    "MAILWARD_ENV": "Not A Word",
    "AMQP_URL": "http://example.com",
    "REDIS_URL": "redis:/nowhere",
    "DATABASE_URL": "mysql://example.com/mail",
    "RETRY_DELAYS": "60,10",
    "PORT": "eighty",
    "WEB_CONCURRENCY": "0",
    "RESEND_WEBHOOK_SECRETS": "",
    "CLOUDFLARE_WEBHOOK_SECRETS": "whsec_not base64",
}


@pytest.fixture
def platform(deployment: Deployment, postgresql_url: str) -> Deployment:
    """A deployment on PostgreSQL."""
    deployment.system.environ["DATABASE_URL"] = postgresql_url
    return deployment


def heroku(platform: Deployment) -> dict[str, str]:
    """The environment of a dyno: the add-on's name for the broker, postgres:// (PORT and WEB_CONCURRENCY are there)."""
    environ = dict(platform.environ)
    environ["CLOUDAMQP_URL"] = environ.pop("AMQP_URL")
    environ["DATABASE_URL"] = environ["DATABASE_URL"].replace("postgresql+psycopg://", "postgres://")
    return environ | {"DYNO": "web.1"}


def honcho(platform: Deployment, *names: str) -> subprocess.Popen[bytes]:
    """Start processes of the Procfile; their output is the log `honcho`."""
    # With exec, so that honcho reports the statuses of our processes and not of the shells around them.
    own = platform.system.directory / "Procfile"
    own.write_text("".join(f"{name}: exec {command}\n" for name, command in procfile().items()))
    command = [str(BIN / "honcho"), "start", "-e", os.devnull, "-d", str(ROOT), "-f", str(own), *names]
    out = (platform.system.directory / "honcho.log").open("ab")
    process = subprocess.Popen(command, cwd=ROOT, env=heroku(platform), stdout=out, stderr=out, start_new_session=True)
    out.close()
    platform.system.processes.append(process)
    return process


def statuses(said: str) -> dict[str, int]:
    """Exit status of each process, as honcho tells it."""
    return {name: int(status) for name, status in re.findall(r"(\S+) stopped \(rc=(-?\d+)\)", said)}


def test_a_release_and_the_processes_of_the_procfile_turn_webhooks_into_removals_and_end_at_sigterm(
    platform: Deployment,
) -> None:
    system = platform.system
    system.put(["gone1@example.com", "gone2@example.com", "stays@example.com"], b'{"name": "made up"}')

    honcho(platform, "release").wait(60)
    running = honcho(platform, *(name for name in procfile() if name != "release"))
    wait_until(lambda: platform.ready() or running.poll() is not None, "the web process is ready")
    assert running.poll() is None, system.log("honcho")
    door = platform.open_door()
    posts = {
        "resend": resend("complained", ["gone1@example.com"]),
        "cloudflare": cloudflare_bounce("gone2@example.com"),
    }
    for provider, payload in posts.items():
        body = json.dumps(payload).encode()
        assert door.post(provider, body, signed(provider, body, f"msg_{provider}")).status == 200
    wait_until(lambda: system.applied() == 2, "both are applied")

    assert {system.record(address) for address in ("gone1@example.com", "gone2@example.com")} == {None}
    assert system.record("stays@example.com") == b'{"name": "made up"}'

    asked = time.monotonic()
    running.send_signal(signal.SIGTERM)
    running.wait(GRACE_S)

    assert time.monotonic() - asked < GRACE_S
    assert statuses(system.log("honcho")) == {f"{name}.1": 0 for name in procfile()}
    assert processes_of(platform.environ["MAILWARD_ENV"]) == []


def test_a_platform_that_signals_each_process_sees_status_0_too(platform: Deployment) -> None:
    """Heroku has no honcho: it signals every process of a dyno, gunicorn's workers included."""
    platform.release()
    door = platform.start_web()
    assert door.post("resend", b"{}", []).status == 401  # the connection stays open and idle, as a router's does
    platform.start_consumer()
    asked = time.monotonic()
    for pid in processes_of(platform.environ["MAILWARD_ENV"]):
        os.kill(pid, signal.SIGTERM)
    ended = [process.wait(GRACE_S) for process in platform.system.processes]

    assert ended == [0, 0]
    assert time.monotonic() - asked < GRACE_S
    assert processes_of(platform.environ["MAILWARD_ENV"]) == []


@pytest.mark.parametrize("name", procfile())
def test_with_wrong_settings_a_process_says_all_faults_at_once_and_does_not_start(
    deployment: Deployment, name: str
) -> None:
    done = deployment.run(procfile()[name], **WRONG)

    assert done.returncode not in (0, None)
    said = done.stdout + done.stderr
    assert [setting for setting in WRONG if f"{setting} " not in said] == []
    assert "Traceback" not in said
    assert "whsec_not base64" not in said
